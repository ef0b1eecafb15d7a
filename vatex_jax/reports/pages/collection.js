// Pages on which captions are collected: written anew (`direct`), translated with machines' help (`postedit`), and what
// was written approved or rejected by somebody else (`review`).

const review = page.data.kind === "review";
const least = page.data.least;
const CHINESE = /\p{Script=Han}/gu;
const characters = (text) => (text.match(CHINESE) || []).length;
const plain = (text) => text.normalize("NFC").replace(/\s+/gu, " ").trim();

function watch(task) {
  if (!task.link) return page.make("p", { className: "soft" }, `Video ${task.video_id}`);
  const link = page.make("a", { href: task.link, target: "_blank", rel: "noopener noreferrer" }, `Watch the video ${task.video_id}`);
  return page.make("p", {}, link);
}

function source(task, place) {
  if (!task.sources.length) return [];
  return [page.make("p", { className: "source", lang: "en", dir: "auto" }, task.sources[place])];
}

// The machines' translations of a caption, each with a button that copies it.
function references(task, place, field) {
  if (!task.references.length) return [];
  const items = task.references[place].map((text, number) => {
    const copy = page.make("button", { type: "button", className: "copy", "aria-label": `Copy translation ${number + 1}` }, "Copy");
    copy.addEventListener("click", () => {
      field.value = text;
      field.dispatchEvent(new Event("input"));
      field.focus();
    });
    return page.make("li", {}, page.make("span", { lang: "zh", dir: "auto" }, text), copy);
  });
  return [page.make("ul", { className: "references" }, ...items)];
}

function writing(task, state, number, place) {
  const field = page.make("textarea", { value: state.texts[place], rows: 2, maxLength: 1000, dir: "auto", lang: "zh" });
  const count = page.make("span", { className: "soft" });
  const counted = () => { count.textContent = `${characters(field.value)} Chinese characters`; };
  field.addEventListener("input", () => {
    state.texts[place] = field.value;
    counted();
    changed(number);
  });
  counted();
  const label = page.make("label", {}, page.make("span", {}, task.sources.length ? "Translation" : `Caption ${place + 1}`), field);
  return page.make("div", { className: "caption" }, ...source(task, place), ...references(task, place, field), label, count);
}

function judging(task, state, number, place) {
  const name = `verdict-${number}-${place}`;
  const choices = [[true, "Approve"], [false, "Reject"]].map(([approved, text]) => {
    const box = page.make("input", { type: "radio", name, checked: state.approved[place] === approved });
    box.addEventListener("change", () => {
      state.approved[place] = approved;
      changed(number);
    });
    return page.make("label", {}, box, ` ${text}`);
  });
  const written = page.make("legend", {}, page.make("span", { lang: "zh", dir: "auto" }, task.texts[place]));
  return page.make("fieldset", { className: "caption" }, written, ...source(task, place), page.make("div", { className: "verdict" }, ...choices));
}

const places = (task) => [...Array(task.count).keys()];

const collection = {
  fresh: (task) => (review ? { approved: places(task).map(() => null) } : { texts: places(task).map(() => "") }),

  take(task, state, entry) {
    const given = review ? entry.approved : entry.texts;
    if (!Array.isArray(given) || given.length !== task.count) return false;
    const kind = review ? "boolean" : "string";
    const values = given.map((value) => (typeof value === kind ? value : review ? null : ""));
    if (review) state.approved = values;
    else state.texts = values;
    return true;
  },

  entry: (task, state) => (review ? { approved: state.approved } : { texts: state.texts.map(plain) }),

  body(task, state, number, row) {
    const part = review ? judging : writing;
    return page.make("div", { className: "body" }, watch(task), ...places(task).map((place) => part(task, state, number, place)), row);
  },

  told(task, state) {
    const done = review ? state.approved.filter((value) => value !== null) : state.texts.filter(plain);
    return `${done.length} of ${task.count} ${review ? "judged" : "written"}`;
  },

  lacking(task, state) {
    if (review) {
      const open = state.approved.indexOf(null);
      return open < 0 ? "" : `caption ${open + 1} is neither approved nor rejected.`;
    }
    const texts = state.texts.map(plain);
    const short = texts.findIndex((text) => characters(text) < least);
    if (short >= 0) {
      return least > 1 ? `caption ${short + 1} has ${characters(texts[short])} Chinese characters; ${least} are wanted.` : `caption ${short + 1} holds no Chinese.`;
    }
    if (task.sources.length) return ""; // two English captions may be translated alike
    const twin = texts.findIndex((text, place) => texts.indexOf(text) < place);
    return twin < 0 ? "" : `captions ${texts.indexOf(texts[twin]) + 1} and ${twin + 1} are the same.`;
  },
};

for (const words of document.querySelectorAll(".least")) words.textContent = String(least);
sheet.start(collection);
