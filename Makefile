# Every command installs what it needs, and can be repeated, as root or not.
# Set DATABASE_URL and REDIS_URL to use your own servers; otherwise tomannot starts its own.

SHELL := bash
RUN := .venv/bin
UV_COMPILE := ../$(RUN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-emit-index-url --no-emit-find-links
# mypy's Django plugin reads the settings; no server is needed at these addresses.
NO_SERVERS := DATABASE_URL=postgresql://absent.invalid/tomannot REDIS_URL=redis://absent.invalid/0 SECRET_KEY=none
PYTEST := $(RUN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-mturk test torture storm bench check lint types templates imports migrations fix messages schema lock audit sbom clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: ## create the virtual environment, with everything for development
	@bash scripts/setup.sh dev

demo: ## run tomannot with a sample study; Ctrl-C stops everything
	@started=$$(date +%s) && bash scripts/setup.sh base && exec $(RUN)/python manage.py demo --started $$started $(ARGS)

demo-mturk: ## run a campaign on a simulated Mechanical Turk with simulated workers; Ctrl-C stops everything
	@bash scripts/setup.sh dev && exec $(RUN)/python -m tests.demo_mturk $(ARGS)

test: ## the tests; ARGS="-k word" for some of them
	@bash scripts/setup.sh tests
	@$(PYTEST) $(ARGS)

torture: ## the long forms of some tests: whole campaigns, a kill at every point, each journey on each screen
	@bash scripts/setup.sh tests
	@$(PYTEST) -m torture $(ARGS)

storm: ## submissions to several machines under random faults; ARGS="--seconds 600 --seed 7"
	@bash scripts/setup.sh dev
	@bash scripts/setup.sh servers
	@exec $(RUN)/python -m tests.topology $(ARGS)

bench: ## measure speed on this machine, a few minutes (docs/benchmarks.md); ARGS=--quick for less
	@bash scripts/setup.sh base
	@exec $(RUN)/python -m bench $(ARGS)

check: lint types templates imports migrations ## check lint, format, types, templates, imports, migrations

lint: setup
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .

types: setup
	# Workers that do not start within 3 seconds, on a busy machine, end it: the second try, mostly cached, decides.
	@$(NO_SERVERS) $(RUN)/mypy --num-workers 2 . || $(NO_SERVERS) $(RUN)/mypy .

templates: setup
	$(RUN)/djlint --check --lint templates

imports: setup
	$(RUN)/lint-imports

migrations: setup
	$(RUN)/python manage.py makemigrations --check --dry-run

fix: ## format, and apply the linters' automatic fixes
	@bash scripts/setup.sh dev
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .
	$(RUN)/djlint --quiet --reformat templates

messages: ## update locale/ from the texts, and compile it; needs GNU gettext
	@bash scripts/setup.sh base
	$(NO_SERVERS) $(RUN)/python manage.py makemessages --all --no-wrap --no-obsolete --add-location file \
		$(addprefix --ignore ,.venv var tests bench docs requirements)
	$(NO_SERVERS) $(RUN)/python manage.py compilemessages --ignore .venv

schema: ## regenerate docs/openapi.yaml; a test compares it with the code
	@bash scripts/setup.sh base
	$(NO_SERVERS) $(RUN)/python manage.py spectacular --file docs/openapi.yaml --validate --fail-on-warn

lock: ## compile requirements/*.in; ARGS=--upgrade for newer versions
	@bash scripts/setup.sh installer
	cd requirements && for name in installer base dev; do $(UV_COMPILE) $(ARGS) $$name.in -o $$name.txt || exit 1; done

audit: ## look for known vulnerabilities of what is pinned; needs the network (docs/security.md)
	@bash scripts/setup.sh installer
	$(RUN)/uv tool run --from pip-audit==2.10.1 pip-audit --require-hashes --disable-pip $(ARGS) \
		-r requirements/installer.txt -r requirements/base.txt -r requirements/dev.txt

sbom: ## list what is installed in production in var/sbom.json (CycloneDX)
	@mkdir -p var && bash scripts/sbom.sh >var/sbom.json

clean: ## remove the environment, caches and test databases (never the demo's data in var/)
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis var/test
	find . -name __pycache__ -not -path './var/*' -prune -exec rm -rf {} +
