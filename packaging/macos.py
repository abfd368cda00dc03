"""Makes the application for macOS of the program's folder: Info.plist, signature, disk image.

The wheels of the built-in model are of one architecture each, so there are two applications.
Signing and notarising need ``SIGNING_IDENTITY`` and ``NOTARY_PROFILE`` of the environment, the name
of a certificate and of what ``xcrun notarytool store-credentials`` keeps; without them the
application is signed for this computer alone.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from definition import Definition
from linux import mark

HERE = Path(__file__).parent / "macos"
OLDEST = "13.0"
"""What Qt 6.11 asks for."""


def info_plist(about: Definition) -> dict[str, Any]:
    """What Finder knows of the application: links, folders and files of agents open with it."""
    types: list[dict[str, Any]] = [
        {
            "CFBundleTypeName": one.title,
            "CFBundleTypeRole": "Viewer",
            "LSHandlerRank": "Owner",
            "LSItemContentTypes": [f"{about.id}.{one.ending.strip('.').replace('.', '-')}"],
        }
        for one in about.file_types
    ]
    if about.folders:
        types.append(
            {
                "CFBundleTypeName": "Folder",
                "CFBundleTypeRole": "Viewer",
                "LSHandlerRank": "Alternate",
                "LSItemContentTypes": ["public.folder"],
            }
        )
    return {
        "CFBundleName": about.title,
        "CFBundleDisplayName": about.title,
        "CFBundleIdentifier": about.id,
        "CFBundleShortVersionString": about.version,
        "CFBundleVersion": about.version,
        "CFBundleDocumentTypes": types,
        "CFBundleURLTypes": [
            {"CFBundleURLName": about.id, "CFBundleURLSchemes": [about.link_scheme]}
        ],
        "UTExportedTypeDeclarations": [
            {
                "UTTypeIdentifier": f"{about.id}.{one.ending.strip('.').replace('.', '-')}",
                "UTTypeDescription": one.title,
                "UTTypeConformsTo": ["public.text"],
                "UTTypeTagSpecification": {
                    "public.filename-extension": [one.ending.strip(".")],
                    "public.mime-type": [one.mime],
                },
            }
            for one in about.file_types
        ],
        "LSMinimumSystemVersion": OLDEST,
        "LSBackgroundOnly": False,
        "NSHighResolutionCapable": True,
        "NSHumanReadableCopyright": f"{about.publisher}, {about.licence}",
    }


def build_macos(about: Definition, out: Path) -> Path:
    """Sign the application that PyInstaller made, and put it on a disk image."""
    application = out / "program" / f"{about.title}.app"
    mark(application, "macos")  # before it is signed
    identity = os.environ.get("SIGNING_IDENTITY", "-")
    hardened = ("--options", "runtime", "--timestamp") if identity != "-" else ()
    _do(
        *("codesign", "--force", "--deep", *hardened, "--sign", identity),
        *("--entitlements", HERE / "entitlements.plist", application),
    )
    _do("codesign", "--verify", "--deep", "--strict", application)
    folder = out / "image"
    shutil.rmtree(folder, ignore_errors=True)  # of the build before
    folder.mkdir()
    application.rename(folder / application.name)
    (folder / "Applications").symlink_to("/Applications")
    file = out / "dist" / f"{about.command}-{about.version}-macos-{platform.machine()}.dmg"
    _do("hdiutil", "create", "-volname", about.title, "-srcfolder", folder, "-format", "ULMO", file)
    if profile := os.environ.get("NOTARY_PROFILE"):
        _do("xcrun", "notarytool", "submit", file, "--keychain-profile", profile, "--wait")
        _do("xcrun", "stapler", "staple", file)
    return file


def _do(*command: str | Path) -> None:
    subprocess.run(command, check=True)
