import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import ActionCommand
from publishing.evaluation import encoder, tables
from publishing.evaluation.reading import EvaluatedRelease
from publishing.evaluation.report import evaluate
from publishing.files import jsonl
from publishing.files.directory import check_free

USAGE = 2
ENCODER = "encoder.jsonl"


class Command(ActionCommand):
    requires_system_checks = ()  # they ask for the database

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("directory", metavar="DIR", type=Path)
        parser.add_argument("files", metavar="FILE", type=Path, nargs="*")
        parser.add_argument("--encoder", metavar="WEIGHTS", type=Path)
        parser.add_argument("--config", action="append", default=[])
        parser.add_argument("--output", metavar="NEW", type=Path)
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        output: Path | None = options["output"]
        try:
            if output:
                check_free(output)
            found, answers = self._evaluated(options)
            made = {
                ".md": tables.markdown(found).encode(),
                ".tex": tables.latex(found).encode(),
                ".json": jsonl.document(found),
            }
            if found["configs"]:
                made[".svg"] = tables.chart(found)
            if output:
                output.mkdir(parents=True, exist_ok=True)
                for suffix, content in made.items():
                    (output / f"evaluation{suffix}").write_bytes(content)
                if answers:
                    (output / ENCODER).write_bytes(answers)
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}.", returncode=USAGE) from error
        self.stdout.write(made[".json" if options["json"] else ".md"].decode(), ending="")

    def _evaluated(self, options: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Return the results, and the encoder's answers if there are any."""
        directory, files, configs = options["directory"], options["files"], options["config"]
        if not (files or options["encoder"]):
            raise CommandError("Name a file of answers or votes, or an encoder.", returncode=USAGE)
        found = evaluate(directory, files, configs)  # a mistake in a file is told before the training
        if not options["encoder"]:
            return found, b""
        with TemporaryDirectory() as scratch:
            path = Path(scratch) / ENCODER
            try:
                encoder.write_answers(path, EvaluatedRelease(directory, configs), options["encoder"])
            except encoder.EncoderSkipped as error:
                if not files:
                    raise
                self.stderr.write(f"The encoder was skipped. {error}")
                return found, b""
            return evaluate(directory, [*files, path], configs), path.read_bytes()
