"""`tune lab:NAME`: the uses under a real kernel in a VM, on a virtual drive. Needs neither root nor a drive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seekwise.cli import _output, _tune_simulated, tune
from seekwise.lab.testbed import tune as virtual
from seekwise.measure.live import candidates, planning
from seekwise.store.database import Store
from seekwise.workload.study import uses as use_files

if TYPE_CHECKING:
    from seekwise.measure.live.planning import Request


def answer(request: Request) -> None:
    """Boots guests for the uses; prints the answer, marked as virtual."""
    from seekwise.lab.testbed import backend

    _tune_simulated.refuse_what_needs_a_device(request)
    model = virtual.model_of(request.target, request.kernel)
    compared = virtual.candidates(model, candidates.parse_vary(request.vary))
    named = request.uses is not None
    chosen, said = virtual.check_uses(use_files.chosen(request.uses), named=named)
    chosen, notes = planning.uses_affected(chosen, compared, named=named)
    left_out: tuple[str, ...] = ()
    if not named:
        left_out = tuple(use.name for use in chosen[virtual.USES_MOST :])
        chosen = chosen[: virtual.USES_MOST]
    plan = planning.on_a_model(
        request,
        f"{model.title} (virtual)",
        f"{model.title}, Linux {model.kernel} in qemu; virtual: no request reaches a device",
        compared.all,
        chosen,
        (*compared.notes, *said, *notes, *virtual.played_otherwise()),
        provenance="virtual",
        left_out=left_out,
    )
    run = planning.run_of(plan, request.target, backend="lab")
    with Store.open(request.db) as store:
        if not request.as_json:
            tune.print_stack(plan)
        with _tune_simulated.progress("in guests", quiet=request.as_json) as tell:
            virtual.carry_out(
                store, run, plan.uses, plan.candidates, model,
                guests=backend.default_guests(), say=_output.progress, tell=tell,
            )  # fmt: skip
        tune.show(store, run.run_id, as_json=request.as_json, began_s=request.began_s)
