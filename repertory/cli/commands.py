"""The verbs of the `repertory` command: argument parsing only. Each is carried out by the file of its name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repertory.cli.capacity_commands import app as capacity_app
from repertory.cli.screen import PROFILE_HELP, SET_HELP, STOPPED_STATUS, VARY_HELP, console, refuse_unused
from repertory.errors import UsageError, unknown

app = typer.Typer(
    name="repertory",
    help="Lifelong reinforcement learning with a fixed number of policies.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.add_typer(capacity_app)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from repertory import __version__

        typer.echo(f"repertory {__version__}")
        raise typer.Exit


@app.callback()
def command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Lifelong reinforcement learning with a fixed number of policies."""


Sweeps = Annotated[Path, typer.Argument(help="A folder of sweeps, as 'repertory reproduce' leaves.")]


@app.command()
def run(
    domain: Annotated[
        str | None, typer.Option(help="Which tasks: see 'repertory list domains'; a Gymnasium id; or FILE.py:NAME.")
    ] = None,
    learner: Annotated[
        str | None, typer.Option(help="What each policy is: see 'repertory list learners'; sb3:SAC; or FILE.py:NAME.")
    ] = None,
    policies: Annotated[int | None, typer.Option(help="How many policies the library holds.")] = None,
    selector: Annotated[str | None, typer.Option(help="What chooses a policy; epsilon-greedy if not given.")] = None,
    profile: Annotated[str | None, typer.Option(help=PROFILE_HELP)] = None,
    run: Annotated[int | None, typer.Option(help="Which run: task sequence n is the 0-th shifted by n.")] = None,
    seed: Annotated[int | None, typer.Option(help="What all randomness follows from.")] = None,
    sequence: Annotated[
        str | None, typer.Option(help="Tasks drawn by the 'seed', in 'rounds' of all, or the 'authors' own.")
    ] = None,
    blocks: Annotated[int | None, typer.Option(help="Length of the lifetime; the paper's if not given.")] = None,
    block_steps: Annotated[int | None, typer.Option(help="Steps in a block; the paper's if not given.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to save the run in.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help=SET_HELP)] = None,
    vary: Annotated[list[str] | None, typer.Option(help=VARY_HELP)] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with the same settings.")] = None,
    task: Annotated[str | None, typer.Option(help="The only task, or tasks (0-8); all tasks if not given.")] = None,
    held_out: Annotated[
        str | None, typer.Option(help="Tasks (6-8) that are never trained on, only evaluated during the life.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="What chooses the policies; a library if not given.")] = None,
    hidden_tasks: Annotated[
        bool | None, typer.Option("--hidden-tasks", help="Tell neither agent nor policies which task it is.")
    ] = None,
    start_from: Annotated[
        str | None, typer.Option(help="A library's file or a run's folder, whose policies to begin with.")
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write event files into the run's folder.")
    ] = False,
    wandb: Annotated[
        str | None, typer.Option(metavar="PROJECT", help="Send the same numbers to a project of Weights & Biases.")
    ] = None,
) -> None:
    """Run one lifetime: blocks of random tasks, a policy picked per episode, all learning as they go.

    With --out and nothing else, the run in that folder is resumed; with --blocks, it goes on to as many.
    """
    options = dict(locals())
    from repertory.cli.run import run_in_console
    from repertory.cli.run_options import spec_from_options

    run_in_console(spec_from_options(options, set_ or [], config), out, console(), tensorboard, wandb)


@app.command()
def reproduce(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="A table or figure (see 'repertory list experiments'), or a .toml of yours.")
    ],
    runs: Annotated[str | None, typer.Option(help="Such as 0-26 or 0,3,5-7; the paper's number if not given.")] = None,
    conditions: Annotated[
        str | None, typer.Option(help="Names or patterns, by commas: AdaptiveDQN9P,Unadaptive*. All if not given.")
    ] = None,
    scale: Annotated[float, typer.Option(help="Multiplies the steps of a block; learners stay as they are.")] = 1.0,
    blocks: Annotated[int | None, typer.Option(help="Blocks of a lifetime; the paper's if not given.")] = None,
    workers: Annotated[int | None, typer.Option(help="Runs at a time; one per core if not given.")] = None,
    profile: Annotated[str, typer.Option(help=PROFILE_HELP)] = "text",
    engine: Annotated[str, typer.Option(help="'local' processes, or 'ray' for more than one machine.")] = "local",
    out: Annotated[Path | None, typer.Option(help="Folder of the sweep; results/NAME-PROFILE if not given.")] = None,
    reuse: Annotated[
        Path | None, typer.Option(help="A folder whose finished runs, of any experiment, need not be run again.")
    ] = None,
    seed: Annotated[int, typer.Option(help="What all randomness follows from.")] = 0,
    sequence: Annotated[
        str | None,
        typer.Option(help="Tasks by the 'seed', in 'rounds', or the 'authors' own; the experiment's if not given."),
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write event files into the runs' folders.")
    ] = False,
    wandb: Annotated[
        str | None, typer.Option(metavar="PROJECT", help="Send the same numbers to a project of Weights & Biases.")
    ] = None,
) -> None:
    """Run the experiments of a table or figure of the paper, or of your own file; resume what was stopped."""
    options = dict(locals())
    del options["context"]
    from repertory.paper.forecasts import RECOMMEND

    if name == RECOMMEND:
        from repertory.cli.forecasts import forecasts_in_console

        refuse_unused(context, ("name", "conditions", "seed", "out"), name)
        forecasts_in_console(console(), [part for part in (conditions or "").split(",") if part], seed, out)
        return
    from repertory.cli.reproduce import reproduce_all_in_console

    if not reproduce_all_in_console(console(), **options):
        raise typer.Exit(STOPPED_STATUS)


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="A folder of runs, as 'repertory reproduce' leaves.")],
    out: Annotated[Path, typer.Option(help="Folder for the page and its tables.")] = Path("report"),
    compute_missing: Annotated[
        bool, typer.Option("--compute-missing", help="Run the one-to-one runs that forgetting and transfer need.")
    ] = False,
    figures: Annotated[bool, typer.Option(help="Write every figure as SVG and PNG too, for use elsewhere.")] = False,
) -> None:
    """Write one page with all tables and figures, the paper's beside ours; works on unfinished sweeps too."""
    from repertory.cli.report import report_in_console

    report_in_console(results, out, compute_missing, figures, console())


@app.command()
def dashboard(
    results: Annotated[Path, typer.Argument(help="A folder of runs, finished or not.")],
    port: Annotated[int, typer.Option(help="0 for any that is free.")] = 8765,
) -> None:
    """Serve the same page on this machine alone, and refresh it while runs are running."""
    from repertory.report.dashboard import serve

    screen = console()
    serve(results, port, lambda text: screen.print(text, soft_wrap=True))


@app.command()
def claims(
    results: Sweeps = Path("results"),
) -> None:
    """Which of the paper's claims the runs in a folder reproduce, which they do not, and what would decide the rest."""
    from repertory.cli.claims import claims_in_console

    claims_in_console(results, console())


@app.command()
def export(
    source: Annotated[Path, typer.Argument(help="The folder of a run, of a sweep, or of several.")],
    target: Annotated[Path, typer.Argument(help="Folder for the records, made if it is not there.")],
) -> None:
    """Copy the records of finished runs without their policies: small, and all that reports and claims need."""
    from repertory.cli.export import export_in_console

    export_in_console(source, target, console())


@app.command()
def save(
    run: Annotated[Path, typer.Argument(help="A run's folder; the run need not be finished.")],
    file: Annotated[Path, typer.Argument(help="The library's file, such as library.npz.")],
    for_training: Annotated[
        bool, typer.Option("--for-training", help="Save replay memories and optimisers too, to train it further.")
    ] = False,
    task: Annotated[int | None, typer.Option(help="Only the policy that plays this task, to use elsewhere.")] = None,
    policy: Annotated[int | None, typer.Option(help="Only this policy, to use elsewhere.")] = None,
) -> None:
    """Save the policies of a run as a library, in one file: for repertory.load, evaluate and run --start-from.

    With --task or --policy, save one policy for programs without repertory: plain matrices in a .npz file, or the .zip
    of Stable-Baselines3.
    """
    from repertory.cli.save import save_in_console

    save_in_console(run, file, console(), for_training, task, policy)


@app.command()
def migrate(
    folder: Annotated[Path, typer.Argument(help="The folder of a run, of a sweep, or of several.")],
    commit: Annotated[str | None, typer.Option(help="Of the code that made them, where they do not say.")] = None,
) -> None:
    """Rewrite finished runs of older versions in today's formats; reading them does not need this."""
    from repertory.cli.migrate import migrate_in_console

    migrate_in_console(folder, commit, console())


@app.command()
def results(
    folder: Annotated[Path, typer.Argument(help="A folder of sweeps; the text in its 'notes' is included.")] = Path(
        "results"
    ),
    out: Annotated[Path, typer.Option(help="The file; figures go into the folder's 'figures'.")] = Path("RESULTS.md"),
) -> None:
    """All results as one Markdown file: our tables beside the published ones, the claims, the time used, figures."""
    from repertory.cli.results import results_in_console

    results_in_console(folder, out, console())


@app.command()
def watch(
    run: Annotated[Path, typer.Argument(help="A run's folder; the run need not be finished.")],
    task: Annotated[int | None, typer.Option(help="Which task; that of the last block if not given.")] = None,
    policy: Annotated[int | None, typer.Option(help="Which policy; the task's best so far if not given.")] = None,
    episodes: Annotated[int, typer.Option(help="How many; the next ones have the next seeds.")] = 1,
    seed: Annotated[int, typer.Option(help="Of the first episode.")] = 0,
    fps: Annotated[float | None, typer.Option(help="Frames a second; the domain's own if not given.")] = None,
    explore: Annotated[
        bool, typer.Option("--explore/--greedy", help="Explore as in training, or always take the best action.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="A .gif or .webp file instead of the terminal.")] = None,
) -> None:
    """Watch a policy of a run play a task, without learning: in the terminal or as an animated picture."""
    from repertory.cli.watch import watch_in_console

    watch_in_console(run, fps, out, console(), task=task, policy=policy, episodes=episodes, seed=seed, explore=explore)


@app.command()
def evaluate(
    run: Annotated[Path, typer.Argument(help="A run's folder, or a library's file as record.save writes.")],
    episodes: Annotated[int, typer.Option(help="Of each policy on each task.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the first episode; the next ones have the next seeds.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the regret matrix: a picture and a CSV file.")] = Path(
        "evaluation"
    ),
    keep: Annotated[
        bool, typer.Option("--keep", help="Add each task's best score to the run's record, for reports and export.")
    ] = False,
) -> None:
    """Play every task with every policy, greedy and without learning: which policy is good for what."""
    from repertory.cli.evaluate import evaluate_in_console

    evaluate_in_console(run, episodes, seed, out, console(), keep)


@app.command()
def figure(
    name: Annotated[str, typer.Argument(help="A table or figure of the paper; see 'repertory list figures'.")],
    results: Sweeps = Path("results"),
    profile: Annotated[
        str | None, typer.Option(help="Whose runs; those of the profile with most if not given.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("figures"),
) -> None:
    """Make a table or figure of the paper from results: PNG, SVG, PDF, CSV and LaTeX."""
    from repertory.cli.figure import figure_in_console

    figure_in_console(name, results, profile, out, console())


LISTS = ("domains", "learners", "selectors", "agents", "profiles", "experiments", "figures")


@app.command("list")
def list_(
    what: Annotated[
        str, typer.Argument(help="domains, learners, selectors, agents, profiles, experiments or figures.")
    ],
    name: Annotated[
        str | None, typer.Argument(help="One of them, to see its settings; of figures, a folder of results.")
    ] = None,
) -> None:
    """List what there is, a line for each; with a name, show its settings and what they mean."""
    from repertory import catalogue
    from repertory.cli.listing import (
        experiment_table,
        experiments_table,
        names_table,
        own_table,
        profile_table,
        settings_table,
    )

    if what not in LISTS:
        raise unknown("list", what, LISTS)
    screen = console()
    if what == "profiles":
        if name is not None:
            raise UsageError(
                f"profiles have nothing more to list, and '{name}' is given; valid: repertory list profiles"
            )
        screen.print(profile_table())
        return
    if what == "figures":
        from repertory.cli.figure import list_figures

        list_figures(None if name is None else Path(name), screen)
        return
    if what == "experiments":
        screen.print(experiments_table() if name is None else experiment_table(name))
        return
    if name is None:
        screen.print(names_table(what))
        screen.print(f"\nSettings of one: repertory list {what} NAME", style="dim")
        return
    if name in catalogue.names(what):
        screen.print(settings_table(catalogue.settings_class(what, name)))
    else:
        screen.print(own_table(what, name))


@app.command()
def bench(
    only: Annotated[str | None, typer.Option(help="Rows with this in their name, or a pattern: '*DQN*peak'.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for bench.json, bench.png and bench.svg.")] = Path("bench"),
    repeats: Annotated[int, typer.Option(help="Turns of each contender; the best one counts.")] = 5,
) -> None:
    """Measure speed and memory on this machine as ratios, on one thread, beside their targets (some minutes)."""
    from repertory.benchmarks.threads import begin_again_on_one_thread

    begin_again_on_one_thread()
    from repertory.cli.bench import bench_in_console

    bench_in_console(only, out, repeats, console())
