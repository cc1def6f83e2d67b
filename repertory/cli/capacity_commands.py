"""`repertory capacity ...`: argument parsing only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repertory.cli.screen import PROFILE_HELP, SET_HELP, VARY_HELP, console, refuse_unused

app = typer.Typer(name="capacity", help="How many policies do I need?", no_args_is_help=True)

Out = Annotated[Path, typer.Option(help="Folder for the figure and the CSV file.")]


@app.command()
def empirical(
    context: typer.Context,
    results: Annotated[Path, typer.Argument(help="A folder of runs, as 'repertory reproduce' leaves.")],
    tolerance: Annotated[float, typer.Option(help="Share of the one-to-one score that may be given up.")] = 0.05,
    control: Annotated[
        Path | None, typer.Option(help="Folder of runs of single tasks (--task N); RESULTS, or 'ageing' beside it.")
    ] = None,
    above_random: Annotated[
        bool, typer.Option("--above-random", help="Count scores from random play's, as where rewards are costs.")
    ] = False,
    out: Out = Path("capacity"),
) -> None:
    """Tasks per policy as measured: C_emp and its integral over all tolerances, from a folder's unadaptive runs.

    Where there are runs of single tasks as well, what smaller libraries lose is told apart: by age, or by interference.
    """
    from repertory.cli.capacity import empirical_in_console

    if above_random:  # controls tell apart shares of scores that count from 0
        refuse_unused(context, ("results", "tolerance", "above_random", "out"), "--above-random")
    empirical_in_console(results, tolerance, out, console(), control, above_random)


@app.command()
def theoretical(
    example: Annotated[
        str,
        typer.Argument(
            help="polynomials or walks (the paper's Examples 1 and 2), or a CSV file of repertory evaluate."
        ),
    ],
    tolerance: Annotated[float, typer.Option(help="Epsilon: the regret that is allowed.")] = 0.25,
    out: Out = Path("capacity"),
) -> None:
    """Tasks per policy in theory: the least number of policies that is epsilon-optimal on all tasks, exactly."""
    from repertory.report.theory_view import show_example

    show_example(example, tolerance, out, console())


@app.command()
def clusters(
    domain: Annotated[str, typer.Argument(help="Which tasks; see 'repertory list domains'.")],
    profile: Annotated[str, typer.Option(help=PROFILE_HELP)] = "text",
    steps: Annotated[int, typer.Option(help="Steps of random play on each task.")] = 600_000,
    seed: Annotated[int, typer.Option(help="What all randomness follows from.")] = 0,
    seeds: Annotated[int, typer.Option(help="How many seeds to tell the spread of the number by.")] = 5,
    signature: Annotated[str, typer.Option(help="What precedes a fall: 'low', or the paper's 'minimum'.")] = "low",
    out: Out = Path("capacity"),
) -> None:
    """A rough estimate from random play alone: tasks that look alike under it may share a policy."""
    from repertory.cli.capacity import clusters_in_console

    clusters_in_console(domain, profile, steps, seed, seeds, signature, out, console())


@app.command()
def recommend(
    context: typer.Context,
    domain: Annotated[
        str, typer.Argument(help="Which tasks: see 'repertory list domains'; a Gymnasium id; or FILE.py:NAME.")
    ],
    learner: Annotated[str, typer.Option(help="What each policy is: see 'repertory list learners'; or sb3:PPO.")],
    tolerance: Annotated[float, typer.Option(help="Share of what learning gains that may be given up.")] = 0.05,
    memory: Annotated[str | None, typer.Option(help="The most that the library may take, such as 200MB.")] = None,
    blocks: Annotated[int | None, typer.Option(help="Blocks of the life that you plan; it is not run.")] = None,
    block_steps: Annotated[int | None, typer.Option(help="Steps in a block of it.")] = None,
    steps: Annotated[
        str | None, typer.Option(help="Steps to use at most, such as 2e6; as many as the planned life has.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Time to use at most, such as 10min.")] = None,
    seed: Annotated[int, typer.Option(help="What all randomness follows from.")] = 0,
    results: Annotated[Path | None, typer.Option(help="Run nothing: decide from these finished runs.")] = None,
    profile: Annotated[str, typer.Option(help=PROFILE_HELP)] = "text",
    set_: Annotated[list[str] | None, typer.Option("--set", help=SET_HELP)] = None,
    vary: Annotated[list[str] | None, typer.Option(help=VARY_HELP)] = None,
    out: Out = Path("capacity"),
) -> None:
    """How many policies, which tasks share one, and whether the learner lasts: from a few short trainings."""
    options = dict(locals())
    from repertory.cli.capacity import recommend_from_runs_in_console, recommend_in_console

    del options["context"]
    folder = options.pop("results")
    if folder is None:
        recommend_in_console(console(), **options)
    else:
        asked = {"tolerance": tolerance, "memory": memory}
        refuse_unused(context, ("domain", "learner", "results", "profile", "out", *asked), "--results")
        recommend_from_runs_in_console(console(), domain, learner, folder, profile, out, **asked)


@app.command()
def memory(
    blocks: Annotated[int | None, typer.Option(help="Blocks of the simulated lifetime.")] = None,
    runs: Annotated[int, typer.Option(help="Independent runs.")] = 50,
    out: Out = Path("capacity"),
) -> None:
    """Memory of libraries that grow with the tasks they meet, beside that of a fixed library (simulation)."""
    from repertory.cli.capacity import memory_in_console

    memory_in_console(blocks, runs, out, console())
