"""Whole paths through a live study in a real browser, at the sizes of a desk, a tablet and a phone.

One made-up study runs for all of them, as its users have it: a server process of its own, reached by its address alone.
"""

import re
from types import SimpleNamespace

import pytest

from web.browsing import SIZES, check_page, faults_of, log_in, running_demo

PATIENCE = 300_000  # milliseconds for a plan on a busy machine
PRINTS = "window.printed = 0; window.print = () => { window.printed += 1; };"
STAFF = ("interviewer-north", "cashier", "coordinator", "analyst", "manager")
VISIBLE_FOCUS = """each => {
  const looks = getComputedStyle(each);
  return looks.outlineStyle !== "none" || looks.boxShadow !== "none";
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory, chromium):
    """The made-up study: its address, its passwords, and coupons that are still in somebody's hands."""
    with running_demo(tmp_path_factory.mktemp("live") / "study", PEERFRONT_LIVE_EFFORT="0.05") as (address, passwords):
        context = chromium.new_context()
        page = log_in(context, address, "coordinator", passwords["coordinator"])
        page.goto(f"{address}/coupons/?state=valid")
        codes = list(dict.fromkeys(re.findall(r'href="/coupons/([^"/]+)/"', page.content())))
        context.close()
        yield SimpleNamespace(address=address, passwords=passwords, codes=codes)


@pytest.fixture(params=SIZES)
def size(request):
    return request.param


@pytest.fixture
def staff(site, chromium, size):
    """Somebody who logs in on a device of their own. Scripts that fail, or may not do something, fail the test."""
    contexts, faults = [], []

    def work(name: str, **options):
        context = chromium.new_context(viewport=SIZES[size], has_touch=size != "desk", base_url=site.address, **options)
        contexts.append(context)
        context.set_default_timeout(30_000)
        context.add_init_script(PRINTS)
        context.on("weberror", lambda fault: faults.append(str(fault.error)))
        context.on("console", lambda said: faults.append(said.text) if "Content Security" in said.text else None)
        return log_in(context, site.address, name, site.passwords[name])

    yield work
    for context in contexts:
        context.close()
    assert not faults


def button(page, name: str):
    return page.get_by_role("button", name=re.compile(name))


def scan(page, code: str) -> None:
    """A scanner types into the box that has the focus, and ends with Enter."""
    page.keyboard.type(code)
    page.keyboard.press("Enter")
    page.wait_for_url("**/enrol/**")


def answer(page) -> None:
    """Answer every question with its first choice."""
    page.get_by_role("spinbutton").first.fill("12")
    for question in page.get_by_role("radiogroup").or_(page.locator("fieldset:has(input[type=radio])")).all():
        question.get_by_role("radio").first.check()


def enrol(page) -> str:
    """Send the answers; gives the person's pseudonym."""
    button(page, "^Enrol").click()
    page.wait_for_url("**/hand-out/")
    return page.url.split("/")[-3]


def people_of(page, code: str) -> int:
    """How many people came with this coupon, as the coordinator sees it."""
    page.goto(f"/coupons/{code}/")
    return len(set(re.findall(r'href="/people/([^"/]+)/"', page.locator("main").inner_html())))


def test_from_arrival_to_payment(site, staff) -> None:
    code = site.codes.pop()
    page = staff("interviewer-north")
    check_page(page)
    scan(page, code)
    check_page(page)
    button(page, "^Enrol").click()
    page.get_by_role("alert").first.wait_for()
    check_page(page)  # with what is wrong
    answer(page)
    person = enrol(page)
    check_page(page)
    button(page, "^Hand out .*print").click()
    page.wait_for_url("**/print/**")
    check_page(page)
    page.wait_for_function("window.printed === 1")  # at once, without another tap
    page.go_back()
    page.reload()
    assert button(page, "^Hand out .*print").count() == 0, "nobody gets coupons twice"
    check_page(page)

    cashier = staff("cashier")
    check_page(cashier)
    cashier.goto("/pay/")
    if button(cashier, "^Work here").count():  # whose role is for all sites
        check_page(cashier)
        button(cashier, "^Work here").click()
        cashier.wait_for_load_state()
    cashier.keyboard.type(code)
    cashier.keyboard.press("Enter")
    button(cashier, "^Pay").first.wait_for()
    assert person in cashier.inner_text("main") or code[:3] in cashier.inner_text("main")
    check_page(cashier)
    button(cashier, "^Pay").first.click()
    cashier.wait_for_url("**/receipt/**")
    assert person in cashier.inner_text("main")
    check_page(cashier)
    cashier.goto(f"/pay/?typed={code}")
    cashier.get_by_text(re.compile("It is paid once")).first.wait_for()


def test_a_network_that_is_lost_and_comes_back(site, staff) -> None:
    code = site.codes.pop()
    page = staff("interviewer-north")
    scan(page, code)
    answer(page)
    page.context.set_offline(True)
    button(page, "^Enrol").click()
    page.get_by_text(re.compile("not sent", re.IGNORECASE)).first.wait_for()
    assert page.get_by_role("spinbutton").first.input_value() == "12", "what was typed is still there"
    check_page(page)
    page.context.set_offline(False)
    page.wait_for_url("**/hand-out/", timeout=60_000)
    assert people_of(staff("coordinator"), code) == 2, "who gave it, and one who came with it"


def test_a_session_that_ends_within_a_form(site, staff) -> None:
    code = site.codes.pop()
    page = staff("interviewer-north")
    scan(page, code)
    answer(page)
    page.context.clear_cookies(name="peerfront_session")
    button(page, "^Enrol").click()
    page.get_by_label("Username").wait_for()
    check_page(page)
    page.get_by_label("Username").fill("interviewer-north")
    page.get_by_label("Password").fill(site.passwords["interviewer-north"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/hand-out/")
    assert people_of(staff("coordinator"), code) == 2


def test_two_tablets_with_the_same_coupon(site, staff) -> None:
    code = site.codes.pop()
    first, second = staff("interviewer-north"), staff("interviewer-harbour")
    for page in (first, second):
        scan(page, code)
        answer(page)
    person = enrol(first)
    button(second, "^Enrol").click()
    second.get_by_role("alert").first.wait_for()
    assert "used" in second.get_by_role("alert").first.inner_text()
    check_page(second)
    assert person not in second.get_by_role("heading", level=1).inner_text()
    assert people_of(staff("coordinator"), code) == 2


def focus_on(page, role: str, name: str = "") -> None:
    """Press Tab until the focus is there; it must be seen where the focus is."""
    wanted = page.get_by_role(role, name=re.compile(name)).first
    for _ in range(80):
        if wanted.evaluate("each => each === document.activeElement"):
            assert wanted.evaluate(VISIBLE_FOCUS), f"the focus on {name} is not seen"
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {role} {name}")


def test_by_keyboard_alone_from_arrival_to_coupons(site, staff) -> None:
    page = staff("interviewer-north")
    scan(page, site.codes.pop())
    focus_on(page, "spinbutton")
    page.keyboard.type("12")
    questions = page.locator("fieldset:has(input[type=radio])").count()
    assert questions == 4
    for number in range(questions):
        _tab_to_group(page, number)
        page.keyboard.press("Space")
    focus_on(page, "button", "^Enrol")
    page.keyboard.press("Enter")
    page.wait_for_url("**/hand-out/")
    focus_on(page, "button", "^Hand out .*print")
    page.keyboard.press("Enter")
    page.wait_for_url("**/print/**")
    page.wait_for_function("window.printed === 1")
    focus_on(page, "button", "^Print")
    page.keyboard.press("Enter")
    assert page.evaluate("window.printed") == 2


def _tab_to_group(page, number: int) -> None:
    """Press Tab until the focus is on a choice of a question."""
    group = page.locator("fieldset:has(input[type=radio])").nth(number)
    for _ in range(40):
        if group.evaluate("each => each.contains(document.activeElement)"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to question {number}")


def test_from_plan_to_approval(staff) -> None:
    """After the arrivals: the approved plan may give some of them no coupons."""
    page = staff("coordinator")
    check_page(page)
    page.goto("/plan/")
    made = page.get_by_role("main").get_by_text(re.compile(r"^Plan \d+")).first
    if page.locator("progress").count() == 0:
        for folded in page.locator("details", has_text="Make a new plan").all():
            folded.evaluate("each => (each.open = true)")
        button(page, "^Make a new plan").click()
    page.locator("progress").wait_for(state="detached", timeout=PATIENCE)
    page.goto("/plan/")
    check_page(page)
    assert made.is_visible()
    _press_approve(page)
    page.goto("/plan/")
    assert "approved" in page.inner_text("main").lower()
    assert button(page, "^Approve").or_(page.get_by_role("link", name=re.compile("^Approve"))).count() == 0
    check_page(page)


def _press_approve(page) -> None:
    """On the plan's own page, or after a last look at a page of its own."""
    link = page.get_by_role("link", name=re.compile("^Approve"))
    if link.count():
        link.first.click()
        check_page(page)
    with page.expect_navigation():
        button(page, "^Approve").first.click()


def test_every_page_that_links_lead_to(site, chromium) -> None:
    """Nothing is in anybody's way on any page of any role, and nothing has to be scrolled sideways."""
    seen, faults = set(), []
    for who in STAFF:
        context = chromium.new_context(base_url=site.address)
        page = log_in(context, site.address, who, site.passwords[who])
        first = ["/", *(["/people/?show=withdrawn", f"/coupons/{site.codes[0]}/"] if who == "coordinator" else [])]
        seen -= {shape_of(path) for path in first}
        to_open = first
        while to_open:
            path = to_open.pop(0)
            if shape_of(path) in seen or not is_page(context, path):
                continue
            seen.add(shape_of(path))
            faults += faults_at_each_size(page, path)
            links = page.eval_on_selector_all("a[href]", "all => all.map((each) => each.href)")
            to_open += [each.removeprefix(site.address) for each in links if each.startswith(f"{site.address}/")]
        context.close()
    assert faults == []
    assert len(seen) > 30


def shape_of(path: str) -> str:
    """An address without what is asked, and with * for codes, numbers and pseudonyms."""
    return re.sub(r"[^/]*\d[^/]*", "*", re.split("[?#]", path)[0])


def is_page(context, path: str) -> bool:
    return context.request.get(path).headers["content-type"].startswith("text/html")


def faults_at_each_size(page, path: str) -> list[str]:
    found = []
    for viewport in SIZES.values():
        page.set_viewport_size(viewport)
        assert page.goto(path).status == 200, path
        found += faults_of(page)
    return found
