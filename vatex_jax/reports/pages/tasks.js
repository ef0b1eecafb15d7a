// Pages of tasks: cards to be confirmed one after the other, progress that is kept, a file of results to save and load.
//
// A page's own script makes `form`, which knows the tasks: `fresh(task)`, the state of one nobody has touched; `take(task,
// state, entry)`, which fills it from a saved entry and says whether that is one; `entry(task, state)`, what is saved;
// `body(task, state, number, row)`, the element of a card, with `row`, its button and comment, in it; `told(task, state)`,
// a line about it; `lacking(task, state)`, why it cannot be confirmed yet, or "". Then it calls `sheet.start(form)`.

const { batch, file, tasks } = page.data;
const perPage = page.data.per_page;
const progress = new Progress(`vatex-jax ${page.data.kind} ${batch} ${file}`);
const clock = new Clock(60);
const ID = /^[\p{L}\p{N}._-]{1,40}$/u;
const pages = Math.ceil(tasks.length / perPage);
let form = null;
let states = [];
let shown = 0; // the page
let unsaved = false;

// Progress and saved files have one form; whatever is not of this page is passed over.
function restore(value) {
  let taken = 0;
  const found = new Map(Array.isArray(value?.tasks) ? value.tasks.map((entry) => [entry?.id, entry]) : []);
  tasks.forEach((task, number) => {
    const entry = found.get(task.id);
    const state = states[number];
    if (!entry || !form.take(task, state, entry)) return;
    taken += 1;
    state.done = entry.done === true;
    state.seconds = Number.isFinite(entry.seconds) && entry.seconds > 0 ? entry.seconds : 0;
    state.comment = typeof entry.comment === "string" ? entry.comment : "";
  });
  if (typeof value?.annotator === "string") page.by("annotator").value = value.annotator;
  return taken;
}

function results() {
  return {
    schema: page.data.schema,
    batch,
    file,
    annotator: page.by("annotator").value.trim().normalize("NFC"),
    saved: new Date().toISOString(),
    tasks: tasks.map((task, number) => ({
      id: task.id,
      page: task.page,
      done: states[number].done,
      ...form.entry(task, states[number]),
      seconds: Math.round(states[number].seconds * 10) / 10,
      comment: states[number].comment,
    })),
  };
}

function keep() {
  unsaved = true;
  progress.write(results());
  showStorage();
}

// What a change of a task leads to: it must be confirmed again.
function changed(number) {
  const state = states[number];
  if (state.done) page.say("Changed: confirm the task again.");
  state.done = false;
  keep();
  refresh();
}

function showStorage(other = false) {
  const notice = page.by("storage");
  const told = other || !progress.works;
  notice.hidden = !told;
  if (told) {
    notice.textContent = other
      ? "This page was changed in another window. Work in one window only: close one of them, and load this page again."
      : "This browser keeps no progress for this page. Save the results before you close or reload it; Load takes the saved file back.";
  }
}

// --- the document ---

function card(task, number) {
  const state = states[number];
  const comment = page.make("textarea", { value: state.comment, rows: 2, maxLength: 1000, dir: "auto", className: "comment" });
  comment.addEventListener("input", () => { state.comment = comment.value; keep(); });
  const confirm = page.make("button", { type: "button", className: "confirm" });
  confirm.addEventListener("click", () => confirmTask(number));
  const row = page.make("div", { className: "row" }, confirm,
    page.make("details", { open: state.comment !== "" }, page.make("summary", {}, "Comment"),
      page.make("label", {}, page.make("span", { className: "soft" }, "Optional"), comment)));
  return page.make("article", { className: "task", id: `task-${number}`, "data-number": String(number) },
    page.make("h2", {}, `Task ${number + 1} of ${tasks.length}`, page.make("span", { className: "state" })),
    form.body(task, state, number, row));
}

function refresh() {
  for (const article of document.querySelectorAll(".task")) {
    const number = Number(article.dataset.number);
    const state = states[number];
    article.classList.toggle("done", state.done);
    article.querySelector(".state").textContent = `${form.told(tasks[number], state)}${state.done ? " · confirmed ✓" : ""}`;
    article.querySelector(".confirm").textContent = state.done ? "Confirmed ✓" : "Confirm";
  }
  const done = states.filter((state) => state.done).length;
  page.by("progress").max = tasks.length;
  page.by("progress").value = done;
  page.by("count").textContent = `${done} of ${tasks.length} done`;
}

function show(number) {
  shown = Math.max(0, Math.min(pages - 1, number));
  const first = shown * perPage;
  page.by("tasks").replaceChildren(...tasks.slice(first, first + perPage).map((task, place) => card(task, first + place)));
  page.by("where").replaceChildren(page.make("span", { className: "wide" }, "Page "), `${shown + 1} of ${pages}`);
  page.by("back").disabled = shown === 0;
  page.by("forward").disabled = shown === pages - 1;
  refresh();
}

// --- moving about ---

function goTo(number) {
  if (number < 0 || number >= tasks.length) return;
  if (Math.floor(number / perPage) !== shown) show(Math.floor(number / perPage));
  const article = page.by(`task-${number}`);
  article.querySelector("input, textarea").focus({ preventScroll: true });
  article.scrollIntoView({ block: "start" });
}

function turn(pages_) {
  show(shown + pages_);
  goTo(shown * perPage);
}

function confirmTask(number) {
  const lacking = form.lacking(tasks[number], states[number]);
  if (lacking) {
    page.say(`Task ${number + 1} cannot be confirmed: ${lacking}`);
    return;
  }
  states[number].done = true;
  keep();
  refresh();
  const open = (place) => !states[place].done;
  const places = tasks.map((_, place) => place);
  const next = places.slice(number + 1).find(open) ?? places.find(open);
  if (next === undefined) {
    page.say(`All ${tasks.length} tasks are done. Save the results, and send the file to whoever gave you this page.`);
    page.by("save").focus();
  } else {
    page.say(`Task ${number + 1} is confirmed.`);
    goTo(next);
  }
}

function save() {
  const field = page.by("annotator");
  const name = field.value.trim().normalize("NFC");
  const valid = ID.test(name);
  field.setAttribute("aria-invalid", String(!valid));
  if (!valid) {
    page.say(name ? "The annotator id may have letters, digits, dots, hyphens and underscores, 40 at most." : "Fill in your annotator id first, then save again.");
    field.focus();
    return;
  }
  const value = results();
  page.saveFile(`${file}_${batch}_${name}.json`, value);
  unsaved = false;
  const done = value.tasks.filter((task) => task.done).length;
  page.say(done === tasks.length ? "Saved: every task is done." : `Saved: ${done} of ${tasks.length} tasks are done; go on, and save again later.`);
}

async function load(chosen) {
  let value = null;
  try {
    value = JSON.parse(await chosen.text());
  } catch {
    // what is no JSON is no file of results either
  }
  if (value?.schema !== page.data.schema || value?.batch !== batch || value?.file !== file) {
    page.say("That file holds no results of this page.");
    return;
  }
  const taken = restore(value);
  keep();
  unsaved = false;
  show(shown);
  page.say(`Loaded: ${taken} tasks, ${states.filter((state) => state.done).length} of them done.`);
}

// The card that has the focus, else the first one on the page.
function current() {
  return document.activeElement?.closest(".task") ?? document.querySelector(".task");
}

const keys = {
  n: () => goTo(Number(current().dataset.number) + (current().contains(document.activeElement) ? 1 : 0)),
  p: () => goTo(Number(current().dataset.number) - 1),
  s: save,
};

const sheet = {
  // Begins once the page's script has made its form; `more(event)` gives acts for keys that only it knows.
  start(own, more = () => null) {
    form = own;
    states = tasks.map((task) => ({ ...form.fresh(task), done: false, seconds: 0, comment: "" }));
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || page.writing(event.target)) return;
      const act = more(event) || keys[event.key.toLowerCase()];
      if (!act) return;
      event.preventDefault();
      act();
    });
    page.by("title").textContent = page.data.title;
    page.by("privacy").textContent = page.data.privacy;
    const taken = restore(progress.read());
    const firstOpen = states.findIndex((state) => !state.done);
    show(firstOpen < 0 ? 0 : Math.floor(firstOpen / perPage));
    showStorage();
    if (taken) {
      page.by("guide").open = false;
      page.say("Your progress was kept.");
    }
  },
};

// Before the acts themselves, which may move the focus to another task.
for (const kind of ["keydown", "pointerdown"]) {
  addEventListener(kind, (event) => {
    const seconds = clock.lap();
    const article = event.target instanceof Element && event.target.closest(".task");
    if (article) states[Number(article.dataset.number)].seconds += seconds;
  }, true);
}

addEventListener("beforeunload", (event) => {
  if (unsaved && !progress.works) event.preventDefault();
});

page.by("back").addEventListener("click", () => turn(-1));
page.by("forward").addEventListener("click", () => turn(1));
page.by("save").addEventListener("click", save);
page.by("load").addEventListener("click", () => page.by("file").click());
page.by("file").addEventListener("change", (event) => {
  if (event.target.files.length) load(event.target.files[0]);
  event.target.value = "";
});
page.by("annotator").addEventListener("input", () => { page.by("annotator").removeAttribute("aria-invalid"); keep(); });
progress.onOther(() => showStorage(true));
