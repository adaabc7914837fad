import pytest
from playwright.sync_api import sync_playwright


@pytest.fixture(scope="session")
def browser(browser_path):
    """Chromium, without traffic of its own."""
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser_path, args=quiet)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser):
    """A function that opens a file in a window, light or dark; what went wrong is in ``page.troubles``."""
    contexts = []

    def open_file(path, width=1400, scheme="light"):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.troubles = []
        page.on("console", lambda message: page.troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: page.troubles.append(f"error: {error}"))
        page.on("request", lambda request: page.troubles.append(f"request: {request.url}"))
        page.goto(path.as_uri())
        assert page.troubles.pop(0) == f"request: {path.as_uri()}"
        return page

    yield open_file
    for context in contexts:
        context.close()
