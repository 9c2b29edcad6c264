"""Database triggers that models of every room have."""

import pgtrigger

CHANGE = pgtrigger.Update | pgtrigger.Delete


def final(
    name: str, operation: pgtrigger.Operation = CHANGE, *, condition: pgtrigger.Condition | None = None
) -> pgtrigger.Protect:
    """Make a trigger that forbids the operation, by default changing and deleting rows."""
    return pgtrigger.Protect(name=name, operation=operation, condition=condition)


def stays(name: str) -> pgtrigger.Protect:
    """Make a trigger that forbids deleting rows."""
    return final(name, pgtrigger.Delete)


def refuse_if(condition: str, message: str) -> str:
    """Return PL/pgSQL for :func:`before` or :func:`after` that refuses rows for which this SQL is true."""
    return f"""
    IF {condition} THEN
        RAISE EXCEPTION '{message}';
    END IF;
    RETURN COALESCE(NEW, OLD);
"""


def before(
    name: str, operation: pgtrigger.Operation, func: str, *, condition: pgtrigger.Condition | None = None
) -> pgtrigger.Trigger:
    """Make a trigger that runs ``func`` (PL/pgSQL) on a row before the operation."""
    return pgtrigger.Trigger(
        name=name, operation=operation, when=pgtrigger.Before, func=func, condition=condition
    )


def after(
    name: str, operation: pgtrigger.Operation, func: str, *, condition: pgtrigger.Condition | None = None
) -> pgtrigger.Trigger:
    """Make a trigger that runs ``func`` (PL/pgSQL) on a row after the operation."""
    return pgtrigger.Trigger(
        name=name, operation=operation, when=pgtrigger.After, func=func, condition=condition
    )
