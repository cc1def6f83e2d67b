"""Print every measured ratio. Run by `make bench`, which limits all libraries to one thread."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from benchmarks import cartpole_dqn
from benchmarks.measure import machine, steps_per_second


def main() -> None:
    console = Console()
    console.print(machine(), highlight=False)
    table = Table("training", "steps/s", "ratio", box=None, header_style="bold", pad_edge=False)
    speeds = steps_per_second(
        {
            "Cartpole DQN, repertory": cartpole_dqn.repertory_dqn(),
            "Cartpole DQN, Stable-Baselines3": cartpole_dqn.sb3_dqn(),
        }
    )
    ours = next(iter(speeds.values()))
    for name, speed in speeds.items():
        table.add_row(name, f"{speed:,.0f}", f"{ours / speed:.1f}")
    console.print(table, highlight=False)


if __name__ == "__main__":
    main()
