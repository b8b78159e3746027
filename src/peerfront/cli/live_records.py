"""`peerfront live` for a study's records: open its folder; import, export, backup, restore, verify."""

import sys
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerfront.cli import options
from peerfront.cli.options import claim, number, out_path, output, schema_in, study_in
from peerfront.cli.screen import show, tell
from peerfront.foundation.errors import DataFileError, MissingExtra, OutputExists, SettingError
from peerfront.foundation.messages import Remedy
from peerfront.words.language import say

if TYPE_CHECKING:
    from peerfront.web.live.folder import LiveFolder

FOLDER = Annotated[Path, typer.Argument(help="The study's folder: its keys, its database (SQLite), its back-ups.")]
_EXTRA = ("django", "waitress", "cryptography", "axes", "csp", "whitenoise")


def live_command(command: Callable[..., object]) -> Callable[..., object]:
    """Let a command say how to install what it needs, and that its database failed; its transaction was undone then."""

    @wraps(command)
    def checked(*arguments: Any, **options: Any) -> object:
        if any(find_spec(name) is None for name in _EXTRA):
            raise MissingExtra("peerfront live", "live")
        try:
            return command(*arguments, **options)
        except Exception as fault:
            if not _is_of_the_database(fault):
                raise
            first_line = (str(fault).strip().splitlines() or [type(fault).__name__])[0]
            raise DataFileError("live_database.failed", problem=first_line) from None

    return checked


def _is_of_the_database(fault: Exception) -> bool:
    """Whether the database failed, and not what it was asked for, which would be a defect of the program."""
    database = sys.modules.get("django.db")  # not loaded before a study is opened
    if database is None:
        return False
    return (
        isinstance(fault, database.OperationalError | database.InterfaceError) or type(fault) is database.DatabaseError
    )


def opened(folder: Path) -> "LiveFolder":
    """Open a study whose tables are up to date, and close its folder to others."""
    from peerfront.web.live.operations.opening import check_migrated, open_folder

    study = open_folder(folder)
    study.close_to_others()
    check_migrated()
    return study


def import_command(
    folder: FOLDER,
    file: Annotated[Path, typer.Argument(help="A file that `peerfront check` reads.")],
    site: Annotated[
        str | None, typer.Option(help="Site of people for whom the file tells none; not needed with one site.")
    ] = None,
    schema: options.SCHEMA = None,
    sheet: options.SHEET = None,
    strict: options.STRICT = False,
) -> None:
    """Continue a study that began in a spreadsheet: import its people and coupons.

    All of the file or nothing is imported. Who is there already must be the same in the file, so the same or a longer
    file can be imported again. If the study has no questions yet, they are made from the file's columns.
    """
    opened(folder)
    from peerfront.web.live.operations.study_files import import_here

    study = study_in(file, schema_in(schema), near=schema, strict=strict, sheet=sheet)
    for line in import_here(study, file.name, site):
        show(line)


def export_command(
    context: typer.Context,
    folder: FOLDER,
    out: Annotated[Path, typer.Argument(parser=out_path, metavar="OUT", help="A zip file, or a new folder.")],
    codes: Annotated[
        bool,
        typer.Option("--codes", help="With the real codes of coupons, to go on elsewhere; whoever has one can use it."),
    ] = False,
) -> None:
    """Write the study as files that check, fit, estimate and report read; without contact details.

    Aliases stand in place of the codes of coupons, the same in every export.
    """
    claim(context, out, overwrite=False, make_folder=False)
    opened(folder)
    from peerfront.web.live.operations.study_files import export_here

    show(export_here(out, real_codes=codes))


KEY_FILE = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A file whose content encrypts the back-up, in place of a passphrase."),
]


def secret_of(key_file: Path | None, *, new: bool = False) -> bytes:
    """What encrypts a back-up: the content of a file, or a passphrase that is typed, twice if it is new."""
    from peerfront.web.live.operations.encrypted_files import LEAST, secret_from

    if key_file is not None:
        return secret_from(key_file)
    if not sys.stdin.isatty():
        raise SettingError("live_command.missing", remedy=Remedy("key_file", "FILE"))
    typed: str = typer.prompt(str(say("Passphrase")), hide_input=True, confirmation_prompt=new)
    if new and len(typed) < LEAST:
        raise DataFileError("live_backup.short_secret", least=LEAST)
    return typed.encode()


def _is_encrypted(backup: Path) -> bool:
    from peerfront.foundation.files import is_ordinary
    from peerfront.web.live.operations.encrypted_files import is_encrypted

    return is_ordinary(backup) and is_encrypted(backup)


def backup_command(
    folder: FOLDER,
    out: Annotated[Path | None, output("A file outside the study's folder.")] = None,
    keep: Annotated[int | None, number("Afterwards remove all but the newest N in the folder.")] = None,
    with_keys: Annotated[Path | None, output("Also copy the secret keys, to another place.")] = None,
    encrypt: Annotated[
        bool, typer.Option("--encrypt", help="Encrypt it with a passphrase, which is asked for, or with --key-file.")
    ] = False,
    key_file: KEY_FILE = None,
) -> None:
    """Write a back-up while the server runs: one file with everything but the secret keys."""
    secret = secret_of(key_file, new=True) if encrypt or key_file is not None else None
    if keep is not None and keep < 1:
        raise SettingError("live_command.keep", remedy=Remedy("keep", keep))
    if with_keys is not None and with_keys.exists():
        raise OutputExists("live_backup.exists", path=with_keys)
    if with_keys is not None and out is not None:
        from peerfront.foundation.files import check_apart

        check_apart(with_keys, [out])
    study = opened(folder)
    from peerfront.web.live.operations import backups
    from peerfront.web.live.operations.backup_files import BackupFile
    from peerfront.web.live.operations.backups import back_up_here

    path = back_up_here(study, out, secret)
    made = BackupFile(path, secret)  # reads it back, and compares every file with the manifest
    size = path.stat().st_size / 1e6
    tell("Back-up written to {path} ({size:.1f} MB). Copy it to another computer or disk.", path=path, size=size)
    head = made.about.head
    tell("Its last event has the hash {head}. Write it down, to compare it after a restore.", head=head)
    if keep is not None:
        for gone in backups.remove_all_but(study, keep):
            tell("Removed {name}.", name=gone.name)
    if with_keys is not None:
        from peerfront.foundation.files import write_bytes
        from peerfront.foundation.own_files import own_bytes

        write_bytes(with_keys, own_bytes(study.path / "keys.json"), private=True)
        tell(
            "Keys copied to {path}. Keep them apart from the back-ups: who has both can read contact details, and "
            "who has the keys can make logins.",
            path=with_keys,
        )


def restore_command(
    backup: Annotated[Path, typer.Argument(help="The back-up: a zip file, or an encrypted one.")],
    folder: Annotated[Path, typer.Argument(help="A folder for the restored study; it is made.")],
    keys: Annotated[
        Path | None,
        typer.Option(
            help="The study's keys.json, kept apart from its back-ups. Without it new keys are drawn, and contact "
            "details cannot be read."
        ),
    ] = None,
    key_file: KEY_FILE = None,
) -> None:
    """Restore a back-up into a new folder (or the empty database that DATABASE_URL names), and verify it."""
    from peerfront.web.live.folder import LiveFolder
    from peerfront.web.live.operations.backup_files import BackupFile, keys_from
    from peerfront.web.live.operations.opening import new_folder

    secret = secret_of(key_file) if key_file is not None or _is_encrypted(backup) else None
    file, study, given = BackupFile(backup, secret), LiveFolder(folder.resolve()), keys_from(keys)
    if given is not None:
        file.check_signature(given)
    with new_folder(study, file.serving, given):
        from peerfront.web.live.operations.backups import restore

        restored = restore(file, study)
    tell(
            "Restored and verified: {events:,} events, {rows:,} rows that follow from them, {staff:,} users, "
            "{contacts:,} contact details.",
            events=restored.events, rows=restored.rows, staff=restored.staff, contacts=restored.contacts,
        )  # fmt: skip
    tell("The last event has the hash {head}.", head=restored.head)
    if given is None:
        tell(
            "All files are as its manifest says. Whether somebody rewrote both can be told only with the study's "
            "keys.json: restore with --keys."
        )
    else:
        tell("All files are as its manifest says, which is signed with the study's keys.")
    if restored.unreadable:
        tell(
            "{number:,} contact details cannot be read with these keys: restore again with --keys keys.json of the "
            "study.",
            number=restored.unreadable,
        )
    tell("Serve it with: {command}", command=f"peerfront live serve {quote(str(folder))}")


def verify_command(
    folder: FOLDER,
    backup: Annotated[
        list[Path] | None,
        typer.Option(help="A back-up outside the study's folder to compare with, too; repeatable."),
    ] = None,
    key_file: KEY_FILE = None,
) -> None:
    """Compare every row, user and contact detail with the events; exit code 1 if anything differs.

    The events are compared with their hashes and signatures, with the signed heads in the folder, and with back-ups.
    """
    study = opened(folder)
    from peerfront.web.live.operations.verification import verify

    backups = backup or []
    secret = secret_of(key_file) if key_file is not None or any(map(_is_encrypted, backups)) else None
    found = verify(study, backups, secret)
    tell("{events:,} events, {rows:,} rows. The last event has the hash", events=found.events, rows=found.rows)
    show(found.head)
    for each in found.notes:
        show(f"- {each}")
    if not found.whole:
        for fault in found.faults:
            show(f"- {fault}", err=True)
        show(say("The records were changed by something else than peerfront. Restore a back-up."), err=True)
        raise typer.Exit(1)
    if not found.bound:
        show(
            say(
                "No event says which keys this study has, so users and contact details could not be compared. After "
                "an upgrade from 0.3, serve it once with --migrate; otherwise somebody changed the database."
            ),
            err=True,
        )
        raise typer.Exit(1)
    tell("Users: {users:,}; contact details: {contacts:,}.", users=found.users, contacts=found.contacts)
    tell("Signed heads that agree: {heads:,}; back-ups: {backups:,}.", heads=found.heads, backups=found.backups)
    tell("Whole: the chain of events is unbroken, and every row follows from it. Write the hash down elsewhere.")
    tell(
        "Who has the database, keys.json and all back-ups can rewrite everything: only a hash that was written down "
        "shows it. Compare it with the hash of the same event in the audit."
    )
