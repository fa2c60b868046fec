import { createRouter, createWebHistory, type RouteLocationRaw } from "vue-router";
import { key } from "./api/key";
import { notOpened, unopened } from "./parts/unopened";

export type Zoom = "summary" | "conversation" | "events";

export const router = createRouter({
  history: createWebHistory("/ui/"),
  routes: [
    { path: "/", redirect: { name: "runs" } },
    { path: "/sign-in", name: "sign-in", component: () => import("./screens/SignIn.vue"), meta: { isOpen: true } },
    { path: "/runs", name: "runs", component: () => import("./screens/runs/RunsScreen.vue") },
    {
      // A run; `event`, `turn`, `message` and `call` of the query name a place in it, at every zoom.
      path: "/runs/:id/:zoom(summary|conversation|events)?",
      name: "run",
      component: () => import("./screens/run/RunScreen.vue"),
      props: true,
    },
    { path: "/inbox", name: "inbox", component: () => import("./screens/inbox/InboxScreen.vue") },
    { path: "/compare", name: "compare", component: () => import("./screens/compare/CompareScreen.vue") },
    { path: "/configure", name: "configure", component: () => import("./screens/configure/ConfigureScreen.vue") },
    { path: "/:rest(.*)", redirect: { name: "runs" } },
  ],
});

/** The sign-in page, and after it the page that was asked for. */
export function signInFor(path: string): RouteLocationRaw {
  return { name: "sign-in", query: path === "/" || path === "/runs" ? {} : { to: path } };
}

router.onError((_, to) => notOpened(router.resolve(to).href));
router.afterEach((_to, _from, failure) => {
  if (failure === undefined) unopened.value = undefined;
});

router.beforeEach((to) => {
  // The router read the address before main.ts took the code out of it: it must not write it back.
  if (to.hash !== "") return { path: to.path, query: to.query, hash: "", replace: true };
  if (to.meta["isOpen"] === true || key() !== null) return true;
  return signInFor(to.fullPath);
});
