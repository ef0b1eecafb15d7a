// The page on which people verify reference sets: every answer is ticked, they untick what is wrong.

function picture(task, state) {
  if (!task.image) return [];
  const figure = page.make("figure", {});
  const image = page.make("img", { alt: `The picture of this question, number ${task.image_id}`, loading: "lazy", decoding: "async" });
  image.addEventListener("load", () => { state.image = "shown"; });
  image.addEventListener("error", () => {
    state.image = "missing";
    figure.replaceChildren(page.make("p", { className: "missing" }, `Picture ${task.image_id} cannot be shown. Judge by the question alone.`));
  });
  image.src = task.image;
  figure.append(image);
  return [figure];
}

function answer(task, state, number, place) {
  const box = page.make("input", { type: "checkbox", checked: state.ticked[place] });
  box.addEventListener("change", () => {
    state.ticked[place] = box.checked;
    changed(number);
  });
  return page.make("li", {}, page.make("label", {}, box, page.make("span", { dir: "auto" }, task.answers[place])));
}

const verification = {
  fresh: (task) => ({ ticked: task.answers.map(() => true), image: task.image ? "unseen" : "none" }),

  take(task, state, entry) {
    if (!Array.isArray(entry.ticked)) return false;
    state.ticked = task.answers.map((_, place) => entry.ticked.includes(place));
    if (["shown", "missing"].includes(entry.image) && task.image) state.image = entry.image;
    return true;
  },

  entry: (task, state) => ({
    ticked: state.ticked.flatMap((ticked, place) => (ticked ? [place] : [])),
    answers: task.answers.length,
    image: state.image,
  }),

  body(task, state, number, row) {
    const question = page.make("span", { dir: "auto", lang: page.data.language }, task.question);
    const answers = task.answers.map((_, place) => answer(task, state, number, place));
    return page.make("div", { className: task.image ? "body with-picture" : "body" },
      ...picture(task, state),
      page.make("div", {},
        page.make("fieldset", {},
          page.make("legend", {}, question),
          page.make("ul", { className: task.answers.length > 6 ? "answers many" : "answers", lang: page.data.language }, ...answers)),
        row));
  },

  told: (task, state) => `${state.ticked.filter(Boolean).length} of ${state.ticked.length} kept`,

  lacking: () => "",
};

function step(by) {
  const article = current();
  const boxes = [...article.querySelectorAll("input[type=checkbox]")];
  const place = boxes.indexOf(document.activeElement);
  const next = place < 0 ? (by > 0 ? 0 : boxes.length - 1) : place + by;
  if (next >= boxes.length) article.querySelector(".confirm").focus();
  else boxes[Math.max(0, next)].focus();
}

const pictured = tasks.some((task) => task.image);
for (const words of document.querySelectorAll(".pictured")) words.hidden = !pictured;
keys.j = () => step(1);
keys.k = () => step(-1);
sheet.start(verification, (event) => {
  // Arrows and Enter have a meaning elsewhere; among the answers they are ours.
  const onAnswer = document.activeElement?.matches(".answers input");
  const among = onAnswer || document.activeElement?.matches(".confirm");
  const arrow = among && { ArrowDown: keys.j, ArrowUp: keys.k }[event.key];
  return arrow || (onAnswer && event.key === "Enter" && !event.repeat && (() => confirmTask(Number(current().dataset.number))));
});
