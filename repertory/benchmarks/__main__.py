"""Print every measured ratio. Run by `make bench`, which limits all libraries to one thread."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from repertory.benchmarks import cartpole_dqn, cartpole_ppo, plain_c, pocman_drqn, pocman_prpo
from repertory.benchmarks.keeping import checkpoint_cost, gain_of_second_worker
from repertory.benchmarks.measure import Contender, machine, steps_per_second
from repertory.benchmarks.peak import measure_peak

TRAINING: dict[str, dict[str, Callable[[], Contender]]] = {
    "Cartpole DQN": {
        "repertory": cartpole_dqn.repertory_dqn,
        "Stable-Baselines3": cartpole_dqn.sb3_dqn,
        "plain C": plain_c.plain_c_dqn,
    },
    "Cartpole PPO": {"repertory": cartpole_ppo.repertory_ppo, "Stable-Baselines3": cartpole_ppo.sb3_ppo},
    "POcman DRQN": {"repertory": pocman_drqn.repertory_drqn, "PyTorch": pocman_drqn.torch_drqn},
    "POcman PRPO": {"repertory": pocman_prpo.repertory_prpo, "sb3-contrib": pocman_prpo.sb3_recurrent_ppo},
}
"""What is trained, and who competes; the first is compared with the others."""


def main() -> None:
    warnings.filterwarnings("ignore", module="stable_baselines3")
    console = Console()
    console.print(machine(), highlight=False)
    table = Table("training", "by", "steps/s", "times", box=None, header_style="bold", pad_edge=False)
    for what, makers in TRAINING.items():
        speeds = steps_per_second({name: make() for name, make in makers.items()})
        ours = next(iter(speeds.values()))
        for name, speed in speeds.items():
            table.add_row(what, name, f"{speed:,.0f}", "" if speed == ours else f"{ours / speed:.3g}")
    console.print(table, highlight=False)
    peak, speed = measure_peak(), pocman_drqn.update_speed()
    console.print(
        f"POcman DRQN updates: {speed.done / 1e9:.0f} GFLOP/s, {speed.done / peak:.0%} of this machine's float32 "
        f"matrix-product peak of {peak / 1e9:.0f} GFLOP/s; as fast as {speed.plain / peak:.0%} of peak would be "
        "if equal observations did not share their input products",
        highlight=False,
        soft_wrap=True,
    )
    cost = checkpoint_cost()
    console.print(
        f"checkpoints: {cost.share:.1%} of a 9-policy Cartpole DQN lifetime; one of 27 takes {cost.seconds:.1f} s",
        highlight=False,
        soft_wrap=True,
    )
    console.print(f"two workers: {gain_of_second_worker():.2f} times as fast as one", highlight=False)


if __name__ == "__main__":
    main()
