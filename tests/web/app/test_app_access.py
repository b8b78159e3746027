"""Only this computer, only with the link, and nothing outside the study's folder."""

import sys
from urllib.parse import urlsplit

import pytest
from app_client import PlainClient, running_app

PAGES = ("/", "/file/", "/columns/", "/fit/", "/sheet/", "/forecast/", "/estimates/", "/report/", "/week/", "/job/")


def test_the_link_opens_the_pages_and_leaves_no_token_in_the_address(app) -> None:
    client = PlainClient(app.port)
    page = client.get(urlsplit(app.link).path)
    assert (page.status, page.headers["location"]) == (302, "/")
    cookie = page.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert client.follow("/").status == 200
    token = app.link.rpartition("/")[2]
    assert token not in str(client.cookies)
    assert token not in client.follow("/").text


@pytest.mark.parametrize("path", [*PAGES, "/files/sheet.csv", "/report/page/", "/no/such/page"])
def test_without_the_link_every_page_is_refused(app, path) -> None:
    page = PlainClient(app.port).get(path)
    assert page.status == 403
    assert "Open the link that the terminal shows" in page.words
    assert app.folder.name not in page.words, "the page tells nothing about the study"


@pytest.mark.parametrize("cookie", ["", "x", "ImF3Igo:1abcde:forged"])
def test_a_forged_or_expired_cookie_is_refused(app, cookie) -> None:
    client = PlainClient(app.port)
    client.cookies[f"peerfront_app_{app.port}"] = cookie
    assert client.get("/file/").status == 403


def test_a_cookie_of_an_earlier_run_is_refused_and_the_new_link_helps(app, tmp_path) -> None:
    earlier = app.client()
    with running_app(tmp_path / "other") as other:
        client = other.client()
        client.cookies = {f"peerfront_app_{other.port}": earlier.cookies[f"peerfront_app_{app.port}"]}
        assert client.get("/file/").status == 403
        assert client.get(urlsplit(other.link).path).status == 302
        assert client.get("/file/").status == 200


@pytest.mark.skipif(sys.platform == "win32", reason="the browser is a shell script")
def test_the_link_that_a_browser_was_started_with_opens_nothing_a_second_time(tmp_path) -> None:
    """Everybody on the computer can read the command line of a browser."""
    browser, address = tmp_path / "browser.sh", tmp_path / "address"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {address}.new\nmv {address}.new {address}\n')
    browser.chmod(0o700)
    with running_app(tmp_path / "study", browser=f"{browser} %s") as app:
        while not address.exists():
            assert app.process.poll() is None
        path = urlsplit(address.read_text()).path
        own, other = PlainClient(app.port), PlainClient(app.port)
        assert own.get(path).status == 302
        assert own.get("/file/").status == 200
        assert other.get(path).status == 403
        assert other.get("/file/").status == 403
        assert own.get(path).status == 302, "a tab that is restored"
        assert other.get(urlsplit(app.link).path).status == 302, "the link of the terminal works on"


def test_a_wrong_token_is_refused(app) -> None:
    page = PlainClient(app.port).get("/open/" + "x" * 32)
    assert page.status == 403
    assert "set-cookie" not in page.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "", "[::1]", "0.0.0.0"]
)
def test_another_name_for_this_computer_is_refused(app, host) -> None:
    """DNS rebinding: a page of another site that makes its own name point to this computer."""
    client = app.client()
    assert client.get("/file/").status == 200
    client.host = host.format(port=app.port)
    assert client.get("/file/").status == 400
    assert client.get(urlsplit(app.link).path).status == 400


def test_localhost_is_this_computer(app) -> None:
    client = PlainClient(app.port, f"localhost:{app.port}")
    assert client.get(urlsplit(app.link).path).status == 302


def test_a_form_without_its_token_is_refused(app) -> None:
    client = app.client()
    client.follow("/file/")
    page = client.post("/file/example/", {}, token=False)
    assert page.status == 403
    assert "Nothing was done" in page.words


@pytest.mark.parametrize(
    "name",
    [
        "app/choices.json", "files/study.csv", "../secret.csv", "..%2fsecret.csv", "checked/../../secret.csv",
        "/etc/passwd", ".hidden", "model/manifest.json",
    ],
)  # fmt: skip
def test_nothing_but_results_can_be_downloaded(app, name) -> None:
    (app.folder.parent / "secret.csv").write_text("what nobody may see")
    page = app.client().get(f"/files/{name}")
    assert page.status == 404
    assert "what nobody may see" not in page.text


def test_pages_allow_no_scripts_of_others(app) -> None:
    page = app.client().get("/file/")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "private, no-cache"


def test_a_folder_is_open_in_one_app_at_a_time(app) -> None:
    with pytest.raises(AssertionError, match="is open in the app already"), running_app(app.folder):
        pass


def test_a_port_that_is_taken_is_refused_in_words(app, tmp_path) -> None:
    with (
        pytest.raises(AssertionError, match="Choose another with --port"),
        running_app(tmp_path / "a", "--port", str(app.port)),
    ):
        pass


def test_files_of_the_study_are_private(app) -> None:
    app.client().upload("study.csv", b"id\n1\n")
    assert (app.folder / "files" / "study.csv").stat().st_mode & 0o077 == 0


def test_pages_are_shown_in_the_language_that_was_chosen(app) -> None:
    client = app.client()
    answer = client.post("/language/", {"language": "es", "next": "/file/"})
    assert (answer.status, answer.headers["location"]) == (302, "/file/")
    assert '<html lang="es" dir="ltr">' in client.get("/file/").text
    assert '<html lang="en" dir="ltr">' in app.client().get("/file/").text
    assert client.post("/language/", {"language": "es", "next": "https://evil.example/"}).headers["location"] == "/"
