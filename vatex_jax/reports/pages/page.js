"use strict";
// What every page of ours needs: the document built from data, progress kept in this browser, and a file to save.

const page = {
  data: JSON.parse(document.getElementById("data").textContent),

  by: (id) => document.getElementById(id),

  // An element with properties and children; a child that is a string becomes text, never markup.
  make(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name.includes("-") || name === "for") element.setAttribute(name, value);
      else element[name] = value;
    }
    element.append(...children);
    return element;
  },

  say(text) {
    page.by("status").textContent = text;
  },

  saveFile(name, value) {
    const blob = new Blob([JSON.stringify(value, null, 1) + "\n"], { type: "application/json" });
    const link = page.make("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    // Not at once: some browsers read the file only after this turn.
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  },

  // Whether a key pressed here is text somebody writes.
  writing: (target) => target.matches("textarea, select, input:not([type=checkbox], [type=radio])"),
};

// Progress under one key of localStorage. Browsers may refuse it (settings, private windows, a full disk): then `works`
// is false, and the page has to say so.
class Progress {
  constructor(key) {
    this.key = key;
    this.works = true;
    this.kept = null;
    try {
      this.kept = localStorage.getItem(key);
      localStorage.setItem(key, this.kept ?? "null");
    } catch {
      this.works = false;
    }
  }

  // What was kept, or null; a text that is damaged counts as none.
  read() {
    try {
      return JSON.parse(this.kept);
    } catch {
      return null;
    }
  }

  write(value) {
    if (!this.works) return;
    try {
      localStorage.setItem(this.key, JSON.stringify(value));
    } catch {
      this.works = false;
    }
  }

  // Calls back when another window writes under the same key.
  onOther(callback) {
    addEventListener("storage", (event) => {
      if (event.key === this.key) callback();
    });
  }
}

// Seconds spent on the parts of a page: the time up to an act (a key, a click) belongs to the part that the act is in.
// Pauses count up to `most` seconds, and none while the page is hidden.
class Clock {
  constructor(most) {
    this.most = most;
    this.last = performance.now();
    document.addEventListener("visibilitychange", () => this.lap());
  }

  lap() {
    const now = performance.now();
    const seconds = Math.min((now - this.last) / 1000, this.most);
    this.last = now;
    return seconds;
  }
}
