"use strict";
// Without this script the page is a document with all details; with it, boxes select what is shown.
{
  const list = document.querySelector(".operators");
  const boxes = [...list.querySelectorAll(".operator")];
  const query = document.getElementById("query");
  const status = document.querySelector("[role=status]");
  const beside = document.querySelector(".beside");

  const nameOf = (box) => box.id.replace("box-", "");
  const panelOf = (box) => document.getElementById(box.hash.slice(1));
  const boxOf = (hash) => boxes.find((box) => box.hash === hash);

  function markQuery(name) {
    for (const piece of query.querySelectorAll("[data-operators]")) {
      const isMarked = piece.dataset.operators.split(" ").includes(name);
      const fresh = document.createElement(isMarked ? "mark" : "span");
      fresh.dataset.operators = piece.dataset.operators;
      fresh.append(...piece.childNodes);
      piece.replaceWith(fresh);
    }
  }

  function select(chosen) {
    for (const box of boxes) {
      const isChosen = box === chosen;
      box.setAttribute("aria-selected", isChosen);
      box.tabIndex = isChosen ? 0 : -1;
      panelOf(box).classList.toggle("shown", isChosen);
    }
    markQuery(nameOf(chosen));
  }

  function choose(box, { focus = false, scroll = false } = {}) {
    select(box);
    const marked = panelOf(box).querySelectorAll(".parts li").length;
    status.textContent = `${marked} ${marked === 1 ? "part" : "parts"} of the query marked`;
    if (focus) box.focus();
    // Beside the picture the details begin above where the last ones were read; on a narrow screen
    // they are below it.
    const { top } = beside.getBoundingClientRect();
    if (top < 0 || (scroll && top > innerHeight / 2)) {
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      beside.scrollIntoView({ behavior: calm ? "auto" : "smooth" });
    }
  }

  function moved(key, place) {
    switch (key) {
      case "ArrowUp": return Math.max(place - 1, 0);
      case "ArrowDown": return Math.min(place + 1, boxes.length - 1);
      case "Home": return 0;
      case "End": return boxes.length - 1;
      default: return undefined;
    }
  }

  document.documentElement.classList.add("scripted");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-orientation", "vertical");
  list.setAttribute("aria-labelledby", "dataflow-heading");
  for (const box of boxes) {
    const panel = panelOf(box);
    box.setAttribute("role", "tab");
    box.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.tabIndex = 0;
  }

  list.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const box = event.target.closest(".operator");
    const place = moved(event.key, boxes.indexOf(box));
    if (place !== undefined) choose(boxes[place], { focus: true });
    else if (event.key === "Enter" || event.key === " ") choose(box, { scroll: true });
    else return;
    event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#operator-']");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    choose(boxOf(link.hash), { focus: true, scroll: true });
  });

  addEventListener("hashchange", () => {
    const box = boxOf(location.hash);
    if (box) choose(box);
  });

  // Paper cannot be opened.
  const closed = new Set();
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not([open])")) {
      closed.add(part);
      part.open = true;
    }
  });
  addEventListener("afterprint", () => {
    for (const part of closed) part.open = false;
    closed.clear();
  });

  select(boxOf(location.hash) ?? document.getElementById(`box-${document.body.dataset.shown}`));
}
