"""The app in another language: the browser's own, or the one that was chosen at the bottom of a page."""


def test_the_language_of_the_browser_and_of_a_choice(app) -> None:
    client = app.client()
    assert "The study's file" in client.get("/file/").words
    spanish = client.get("/file/", **{"Accept-Language": "es-CO,es;q=0.9"})
    assert '<html lang="es" dir="ltr">' in spanish.text
    assert "El archivo del estudio" in spanish.words
    chosen = client.post("/language/", {"language": "es", "next": "/file/"})
    assert (chosen.status, chosen.headers["location"]) == (302, "/file/")
    assert "Suelte el archivo aquí o elíjalo" in client.get("/file/").words
    client.post("/language/", {"language": "en", "next": "/file/"})
    assert "Drop the file here, or choose it" in client.get("/file/").words


def test_numbers_follow_the_language() -> None:
    import os
    import subprocess
    import sys

    script = (
        "import django; from django.conf import settings; settings.configure(USE_I18N=True); django.setup()\n"
        "from django.utils import translation; from peerfront.web.app.app_words import rounded\n"
        "for code in ('en', 'es'):\n"
        "    with translation.override(code): print(rounded(1234.56), rounded('x'), rounded(2.0, 3))\n"
    )
    shown = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, text=True, check=True)
    assert shown.stdout.replace("\xa0", ".").splitlines() == ["1,234.6  2.000", "1.234,6  2,000"]
