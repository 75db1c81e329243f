/**
 * The page is for everybody, the description behind it is for who has a key: it is fetched with the
 * one that is typed in here, which "Try it out" then uses as well. It is kept for this tab only.
 */
const form = document.getElementById("ask");
const field = document.getElementById("key");
const why = document.getElementById("why");

async function show(key) {
  const headers = key === "" ? {} : { authorization: `Bearer ${key}` };
  const answer = await fetch("openapi.json", { headers });
  const body = await answer.json();
  if (!answer.ok) return ask(key === "" ? "" : body.detail);
  sessionStorage.setItem("joust-key", key);
  form.hidden = true;
  const ui = SwaggerUIBundle({
    dom_id: "#interface",
    spec: { ...body, servers: [{ url: new URL(".", location.href).href.replace(/\/$/, "") }] },
    docExpansion: "none",
    tagsSorter: "alpha",
    onComplete: () => key !== "" && ui.preauthorizeApiKey("bearer", key),
  });
}

function ask(reason) {
  form.hidden = false;
  why.textContent = reason;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  show(field.value.trim());
});
show(sessionStorage.getItem("joust-key") ?? "");
