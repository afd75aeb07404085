// Light or dark: the choice of the user, or else that of the system. The button with the ID "theme" changes it.

function theme(name) {
  document.documentElement.dataset.theme = name;
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const storedTheme = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
theme(storedTheme || (dark.matches ? "dark" : "light"));
dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  theme(next);
  try { localStorage.setItem("theme", next); } catch { /* a private window */ }
});
