"""repertory: lifelong reinforcement learning with a fixed number of policies.

>>> import repertory
>>> record = repertory.live("cartpole27", repertory.DQN(), policies=9, blocks=3, block_steps=2000)
>>> list(record.blocks.columns)[:4]
['block', 'task', 'steps', 'episodes']

Every name is imported when it is first used, so that `repertory --help` need not load compilers and data frames.
"""

import importlib as _importlib
from typing import TYPE_CHECKING, Any

from repertory.domains.registration import register as _register_environments

if TYPE_CHECKING:
    from repertory.agents.bpr import BPR
    from repertory.agents.em import EMClustering
    from repertory.agents.inference import InferTasks
    from repertory.agents.library import PolicyLibrary
    from repertory.agents.mbcd import MBCD
    from repertory.agents.mbtl import MBTL
    from repertory.agents.plpr import PLPR
    from repertory.agents.sane import SANE
    from repertory.agents.splitting import Splitting
    from repertory.analysis.evaluation import Evaluation, evaluate
    from repertory.analysis.recommend import recommend_policies
    from repertory.catalogue import domain, learner, selector
    from repertory.core.lifetime import Monitor
    from repertory.domains.domain import Domain
    from repertory.domains.tasks import tasks
    from repertory.domains.vary import contexts, vary
    from repertory.errors import UsageError
    from repertory.learners.dqn import DQN
    from repertory.learners.drqn import DRQN
    from repertory.learners.ppo import PPO
    from repertory.learners.protocol import Learner
    from repertory.learners.prpo import PRPO
    from repertory.learners.q_table import QTable
    from repertory.learners.random import Random
    from repertory.runs.extension import extend
    from repertory.runs.live import live
    from repertory.runs.opened import open_record as open
    from repertory.runs.record import Record
    from repertory.runs.saved_library import Library, load
    from repertory.runs.wandb import WandbMonitor
    from repertory.selectors.averages import EpsilonGreedy, UCB1Tuned
    from repertory.selectors.bandits import EXP3, SlidingWindowUCB, ThompsonSampling
    from repertory.selectors.fixed import FixedPartition, OneToOne
    from repertory.selectors.protocol import Selector
    from repertory.sweeps.run_sweep import sweep

__version__ = "0.2.0"

_HOME = {
    "agents.bpr": ("BPR",),
    "agents.em": ("EMClustering",),
    "agents.inference": ("InferTasks",),
    "agents.library": ("PolicyLibrary",),
    "agents.mbcd": ("MBCD",),
    "agents.mbtl": ("MBTL",),
    "agents.plpr": ("PLPR",),
    "agents.sane": ("SANE",),
    "agents.splitting": ("Splitting",),
    "analysis.evaluation": ("Evaluation", "evaluate"),
    "analysis.recommend": ("recommend_policies",),
    "catalogue": ("domain", "learner", "selector"),
    "core.lifetime": ("Monitor",),
    "domains.domain": ("Domain",),
    "domains.tasks": ("tasks",),
    "domains.vary": ("contexts", "vary"),
    "errors": ("UsageError",),
    "learners.dqn": ("DQN",),
    "learners.drqn": ("DRQN",),
    "learners.ppo": ("PPO",),
    "learners.protocol": ("Learner",),
    "learners.prpo": ("PRPO",),
    "learners.q_table": ("QTable",),
    "learners.random": ("Random",),
    "runs.extension": ("extend",),
    "runs.live": ("live",),
    "runs.opened": ("open",),
    "runs.record": ("Record",),
    "runs.saved_library": ("Library", "load"),
    "runs.wandb": ("WandbMonitor",),
    "selectors.averages": ("EpsilonGreedy", "UCB1Tuned"),
    "selectors.bandits": ("EXP3", "SlidingWindowUCB", "ThompsonSampling"),
    "selectors.fixed": ("FixedPartition", "OneToOne"),
    "selectors.protocol": ("Selector",),
    "sweeps.run_sweep": ("sweep",),
}
"""Where each name is; the same as above, which only type checkers read."""
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_NAMED_THERE = {"open": "open_record"}
"""What has another name at home."""

__all__ = [
    "BPR",
    "DQN",
    "DRQN",
    "EXP3",
    "MBCD",
    "MBTL",
    "PLPR",
    "PPO",
    "PRPO",
    "SANE",
    "Domain",
    "EMClustering",
    "EpsilonGreedy",
    "Evaluation",
    "FixedPartition",
    "InferTasks",
    "Learner",
    "Library",
    "Monitor",
    "OneToOne",
    "PolicyLibrary",
    "QTable",
    "Random",
    "Record",
    "Selector",
    "SlidingWindowUCB",
    "Splitting",
    "ThompsonSampling",
    "UCB1Tuned",
    "UsageError",
    "WandbMonitor",
    "contexts",
    "domain",
    "evaluate",
    "extend",
    "learner",
    "live",
    "load",
    "open",
    "recommend_policies",
    "selector",
    "sweep",
    "tasks",
    "vary",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'repertory' has no attribute '{name}'")
    value = getattr(_importlib.import_module(f"repertory.{_MODULE_OF[name]}"), _NAMED_THERE.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_register_environments()
