"""``audit judge``: judge a run again by another policy."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from audit.cli.options import (
    AsJson,
    FailOn,
    FailOnSeverity,
    Force,
    JUnitFile,
    ReferenceRun,
    RunFolder,
    SealKeyFile,
    WritePdf,
)
from audit.cli.output import (
    exit_status,
    shown_progress,
    summarise,
    user_mistakes,
)
from audit.cli.rendering import imprint_of_run, rendering
from audit.cli.seal_verification import key_of, reading_runs


def judge(
    run: RunFolder,
    policy: Annotated[Path, typer.Option(help="Policy file (TOML).")],
    reference: ReferenceRun = None,
    pdf: WritePdf = True,
    fail_on: FailOnSeverity = FailOn.never,
    as_json: AsJson = False,
    junit: JUnitFile = None,
    seal_key: SealKeyFile = None,
    force: Force = False,
) -> None:
    """Judge a run again by another policy, without recounting."""
    with user_mistakes():
        from audit.checks.judging import judging_date
        from audit.cli.ci.junit import refuse_no_file
        from audit.cli.ci.outcomes import of_audit
        from audit.cli.ci.publishing import publish
        from audit.runs.folder import rewriting_run, seal_judged, write_judged_tables
        from audit.runs.inputs import judge_again
        from audit.runs.read import read_run
        from audit.runs.seal_key import with_keyed_data
        from audit.runs.sealed_run import refuse_lost_key
        from audit.runs.settings import Judging

        refuse_no_file(junit, run)
        key, before = key_of(seal_key), [reference] if reference else []
        with (
            shown_progress() as progress,
            rewriting_run(run) as folder,
            reading_runs([run], key, force) as forced,
            reading_runs(before, None, force) as forced_before,
        ):
            judging = Judging(policy=policy, reference=reference, today=judging_date())
            progress("reading the run")
            found = read_run(run, unsealed=True)
            refuse_lost_key(run, key, forced=force)
            progress("judging")
            result = with_keyed_data(judge_again(judging, found), key)
            imprint = replace(imprint_of_run(run), day=judging.today)
            with rendering(result, folder, imprint, pdf, progress) as unrendered:
                write_judged_tables(run, result, folder)
            seal_judged(
                run,
                folder,
                result,
                command=["audit", *sys.argv[1:]],
                judging=judging.model_dump(mode="json"),
                key=key,
                forced=forced + forced_before,
            )
        summarise(result, run, unrendered, as_json=as_json)
        publish(of_audit("judge", result.shared(), fail_on, unrendered, imprint.title), junit)
        raise typer.Exit(exit_status(result, fail_on, unrendered))
