"""A locale with decimal commas, made where its sources are (Debian: `locales`)."""

import os
import subprocess


def comma_locale(folder):
    """The environment of a program that runs under it; None where it cannot be made."""
    os.makedirs(folder, exist_ok=True)
    try:
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(folder, "de_DE.UTF-8")],
                       check=True, capture_output=True, timeout=120)
    except (OSError, subprocess.CalledProcessError):
        return None
    environment = dict(os.environ, LOCPATH=folder, LC_ALL="de_DE.UTF-8", LANG="de_DE.UTF-8")
    point = subprocess.run(["locale", "decimal_point"], env=environment, capture_output=True, text=True).stdout.strip()
    assert point == ",", point
    return environment
