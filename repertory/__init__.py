"""repertory: lifelong reinforcement learning with a fixed number of policies.

>>> import repertory
>>> record = repertory.live("cartpole27", repertory.DQN(), policies=9, blocks=3, block_steps=2000)
>>> list(record.blocks.columns)[:4]
['block', 'task', 'steps', 'episodes']
"""

from repertory.agents.library import PolicyLibrary
from repertory.analysis.recommend import recommend_policies
from repertory.catalogue import domain, learner, selector
from repertory.core.lifetime import Monitor
from repertory.domains.domain import Domain
from repertory.domains.registration import register as _register_environments
from repertory.domains.tasks import tasks
from repertory.errors import UsageError
from repertory.learners.dqn import DQN
from repertory.learners.drqn import DRQN
from repertory.learners.ppo import PPO
from repertory.learners.protocol import Learner
from repertory.learners.prpo import PRPO
from repertory.learners.random import Random
from repertory.runs.live import live
from repertory.runs.opened import open_record as open
from repertory.runs.record import Record
from repertory.runs.saved_library import Library, load
from repertory.selectors.averages import EpsilonGreedy, UCB1Tuned
from repertory.selectors.bandits import EXP3, SlidingWindowUCB, ThompsonSampling
from repertory.selectors.fixed import FixedPartition, OneToOne
from repertory.selectors.protocol import Selector
from repertory.sweeps.run_sweep import sweep

__version__ = "0.2.0"
__all__ = [
    "DQN",
    "DRQN",
    "EXP3",
    "PPO",
    "PRPO",
    "Domain",
    "EpsilonGreedy",
    "FixedPartition",
    "Learner",
    "Library",
    "Monitor",
    "OneToOne",
    "PolicyLibrary",
    "Random",
    "Record",
    "Selector",
    "SlidingWindowUCB",
    "ThompsonSampling",
    "UCB1Tuned",
    "UsageError",
    "domain",
    "learner",
    "live",
    "load",
    "open",
    "recommend_policies",
    "selector",
    "sweep",
    "tasks",
]

_register_environments()
