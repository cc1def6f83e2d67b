"""Conformance checks for learners, domains and agents of your own, and tasks to test them on.

    from repertory.testing import check_agent, check_domain, check_learner

    def test_my_learner():
        check_learner(MyLearner(learning_rate=0.1), my_domain)

    def test_my_domain():
        check_domain(my_domain)

    def test_my_agent():
        check_agent(MyAgent())

Each raises `ConformanceError`, which says what was checked and what was found. And `grouped_tasks(groups=3)` is a
domain that needs three policies, neither more nor fewer: whether an agent finds them is for a test of yours to say.
"""

from repertory.testing.agents import check_agent
from repertory.testing.domains import check_domain
from repertory.testing.groups import grouped_tasks
from repertory.testing.learners import check_learner
from repertory.testing.trace import ConformanceError

__all__ = ["ConformanceError", "check_agent", "check_domain", "check_learner", "grouped_tasks"]
