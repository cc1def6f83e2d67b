"""Many runs: sweeps, the engines that run them, and reading a folder of runs."""
