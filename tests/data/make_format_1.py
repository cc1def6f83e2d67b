"""What made `format-1`: run folders, a sweep and saved libraries as version 0.1.0 left them.

    python make_format_1.py FOLDER        # with repertory at commit 838fd92

Kept so that what is in the folder can be explained, not to be run again: the files must stay as that version left them.
"""

import os
import shutil
import sys
from pathlib import Path

os.environ["REPERTORY_CHECKPOINT_SECONDS"] = "0"

import contextlib

import repertory
from repertory.cli import app
from repertory.lifetime import Monitor

SMALL = {"learning_starts": 60, "buffer_size": 200, "target_update_interval": 100, "net_arch": (6, 6)}
LEARNERS = {
    "dqn": ("cartpole27", repertory.DQN(**SMALL)),
    "dqn-task-matching": ("cartpole27", repertory.DQN(**SMALL, memory="task-matching")),
    "ppo": ("cartpole27", repertory.PPO(net_arch=(6, 6))),
    "drqn": ("pocman18", repertory.DRQN(**SMALL)),
    "prpo": ("pocman18", repertory.PRPO(net_arch=(6, 6))),
}
BLOCKS, BROKEN_AFTER = 5, 3


class Crash(Exception):
    pass


class CrashInBlock(Monitor):
    def block_ended(self, tally):
        if tally.block == BROKEN_AFTER:
            raise Crash


def live(name, out, **more):
    domain_name, learner = LEARNERS[name]
    domain = repertory.domain(domain_name, **({"max_steps": 40} if domain_name == "pocman18" else {}))
    return repertory.live(domain, learner, 2, blocks=BLOCKS, block_steps=150, out=out, **more)


def main(root: Path) -> None:
    for name in LEARNERS:
        record = live(name, root / "runs" / f"{name}-finished")
        record.save(root / f"library-{name}.npz")
        with contextlib.suppress(Crash):
            live(name, root / "runs" / f"{name}-unfinished", monitors=[CrashInBlock()])
    sweep = ["--scale", "0.003", "--blocks", "4", "--runs", "0", "--profile", "released", "--workers", "1"]
    command = ["reproduce", "cartpole27", *sweep, "--out", str(root / "sweep")]
    app([*command, "--conditions", "AdaptivePPO2P"], standalone_mode=False)
    app([*command, "--conditions", "UnadaptivePPO1P"], standalone_mode=False)
    for extra in [*root.rglob("lifetime.png"), *root.rglob("checkpoint-previous.npz")]:
        extra.unlink()
    # One run of the sweep as if it had been stopped: its record and checkpoint after two blocks.
    unfinished = root / "sweep" / "UnadaptivePPO1P" / "run-00"
    shutil.rmtree(unfinished)
    from repertory.experiments.run import live_plan
    from repertory.experiments.sweep import read_sweep

    held = read_sweep(root / "sweep")
    job = held.job(root / "sweep", held.data.conditions["UnadaptivePPO1P"], 0)

    class Stop(Monitor):
        def block_ended(self, tally):
            if tally.block == 2:
                raise Crash

    with contextlib.suppress(Crash):
        live_plan(job.plan(), unfinished, [Stop()])
    (unfinished / "checkpoint-previous.npz").unlink()


main(Path(sys.argv[1]))
