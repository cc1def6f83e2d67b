"""Headless Chromium for tests, where Debian's packages chromium and chromium-driver are installed."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1280,1000"),
)
MISSING = "needs Selenium, Chromium and ChromeDriver (Debian: apt-get install chromium chromium-driver)"


def is_here() -> bool:
    programs = shutil.which("chromium") is not None and shutil.which("chromedriver") is not None
    return programs and importlib.util.find_spec("selenium") is not None


@contextmanager
def chromium() -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def complaints(driver: Any) -> list[str]:
    """What the page wrote to its console."""
    return [entry["message"] for entry in driver.get_log("browser")]


def requested(driver: Any) -> list[str]:
    """Every address that the page asked for."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
