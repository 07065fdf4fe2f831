// The network on a canvas: brokers and links that can be clicked, paths, and a circle to drag.
// It draws what it is told and says what was clicked; what that means is decided in Python.
import { leaflet as L } from "nicegui-leaflet";
import { loadResource } from "../../static/utils/resources.js";

const NEAR = 14; // pixels: a click this close to a link means it
const CLOSE = 5; // pixels: things this much farther than the nearest may be meant as well
const NAMED = 80; // with more brokers than this only those that matter are named

const LOOKS = {
  light: {
    land: ["#e9ecef", "#cfd6dd"], name: "#1f2933",
    link: "#8a96a3", bridge: "#8a96a3", broker: "#33475b", down: "#c81e1e", before: "#e08700",
    after: "#1463d2", alternate: "#7a3fc4", primary: "#1463d2", witness: "#c026a8", hot: "#b45309",
    circle: "#b7791f", rim: "#ffffff", ok: "#15803d", suspect: "#b45309", selected: "#111827",
  },
  dark: {
    land: ["#243040", "#3a4a5e"], name: "#e5e7eb",
    link: "#74839a", bridge: "#74839a", broker: "#b8c7d9", down: "#ff6b6b", before: "#f5b041",
    after: "#6fb1ff", alternate: "#c49bff", primary: "#6fb1ff", witness: "#ff7de3", hot: "#fbbf24",
    circle: "#f2c14e", rim: "#101820", ok: "#4ade80", suspect: "#fbbf24", selected: "#ffffff",
  },
};

export default {
  template: `<div><div ref="sheet" style="position:absolute;inset:0"></div></div>`,
  props: { resourcePath: String },
  async mounted() {
    this.told = {}; // what Python has said: scene, view, paint, region; too large to be watched by Vue
    await this.$nextTick();
    await loadResource(window.path_prefix + `${this.resourcePath}/leaflet/leaflet.css`);
    this.watcher = new MutationObserver(() => this.lookChanged());
    this.watcher.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    this.resizer = new ResizeObserver(() => this.map?.invalidateSize());
    this.resizer.observe(this.$el);
    window.rwmap = this;
    this.$emit("ready");
  },
  beforeUnmount() {
    this.watcher?.disconnect();
    this.resizer?.disconnect();
    this.map?.remove();
    this.map = null;
  },
  methods: {
    tell(news) {
      const { scene, view } = this.told;
      this.told = { ...this.told, ...news };
      if (!this.told.scene) return;
      const [now, was] = [this.told.scene, scene].map((one) => one && JSON.stringify([one.brokers, one.map, one.sheet]));
      if (!this.map || this.told.view !== view || now !== was) this.redraw(true);
      else if ("scene" in news) this.redraw(false); // the same places: the view somebody chose stays
      else {
        if ("paint" in news) this.restyle();
        if ("region" in news) this.drawRegion();
      }
    },
    lookChanged() { // the body's classes change for many reasons
      if (this.map && this.drawnLook !== this.look()) this.redraw(false);
    },
    look() {
      return LOOKS[document.body.classList.contains("body--dark") ? "dark" : "light"];
    },
    onMap() { return this.told.view === "map" && this.told.scene.map !== null; },
    place(broker) {
      if (this.onMap()) return L.latLng(this.told.scene.map[broker]);
      const [x, y] = this.told.scene.sheet[broker];
      return L.latLng(y, x);
    },
    build() {
      const crs = this.onMap() ? L.CRS.EPSG3857 : L.CRS.Simple;
      this.map = L.map(this.$refs.sheet, {
        crs, preferCanvas: true, attributionControl: false, zoomSnap: 0.25, minZoom: this.onMap() ? 1 : -2,
        maxZoom: 14, worldCopyJump: false, zoomAnimation: false, fadeAnimation: false,
      });
      this.names = null; // those of what was drawn before are not spaced any more
      this.canvas = L.canvas({ padding: 0.3 });
      this.map.createPane("land").style.zIndex = 150;
      this.map.on("click", (e) => this.clicked(e));
      this.map.on("zoomend", () => this.names && this.spaceNames());
      this.fit();
      this.draw();
    },
    redraw(fit) {
      if (!this.told.scene) return;
      const view = fit || !this.map ? null : [this.map.getCenter(), this.map.getZoom()];
      this.map?.remove();
      this.build();
      if (view) this.map.setView(...view, { animate: false });
    },
    fit() {
      const places = this.told.scene.brokers.map((_, i) => this.place(i));
      this.map.fitBounds(L.latLngBounds(places).pad(0.08), { animate: false, maxZoom: 12 });
    },
    draw() {
      const { ends, brokers, bridges } = this.told.scene;
      const look = this.drawnLook = this.look();
      if (this.onMap()) this.drawLand(look);
      this.bridges = bridges.map(([a, b]) => L.polyline([this.place(a), this.place(b)],
        { renderer: this.canvas, interactive: false, color: look.bridge, weight: 1.2, dashArray: "2 5" }).addTo(this.map));
      this.links = ends.map(([a, b]) =>
        L.polyline([this.place(a), this.place(b)], { renderer: this.canvas, interactive: false }).addTo(this.map));
      this.paths = [];
      const radius = brokers.length > 300 ? 3.5 : brokers.length > NAMED ? 5 : 7;
      this.brokers = brokers.map((_, i) =>
        L.circleMarker(this.place(i), { renderer: this.canvas, interactive: false, radius }).addTo(this.map));
      this.names = new Map();
      this.worn = new Map();
      this.restyle();
      this.drawRegion();
      requestAnimationFrame(() => requestAnimationFrame(() => { window.rwdrawn = true; }));
    },
    async drawLand(look) {
      const map = this.map;
      this.landData ??= fetch(window.path_prefix + "/land.json").then((answer) => answer.json());
      const land = await this.landData;
      if (map !== this.map) return; // it was built anew meanwhile
      const [fill, rim] = look.land;
      const renderer = L.canvas({ pane: "land", padding: 0.3 });
      for (const rings of land) {
        L.polygon(rings, { renderer, interactive: false, pane: "land", fillColor: fill, fillOpacity: 1, color: rim, weight: 0.7 }).addTo(map);
      }
    },
    wear(layer, kind, i, style) {
      const key = `${kind}${i}`, text = JSON.stringify(style);
      if (this.worn.get(key) === text) return;
      this.worn.set(key, text);
      layer.setStyle(style);
    },
    restyle() {
      const look = this.look(), paint = this.told.paint ?? {};
      const ofLinks = paint.links ?? {}, ofBrokers = paint.brokers ?? {}, load = paint.load;
      const many = this.links.length > 500;
      this.links.forEach((line, i) => {
        const kind = ofLinks[i] ?? "link";
        const width = load ? 0.6 + 7 * load.links[i] : kind === "link" ? (many ? 0.6 : 1.4) : 4;
        const dash = kind === "down" ? "3 7" : null;
        this.wear(line, "l", i, { color: look[kind], weight: width, dashArray: dash, opacity: kind !== "link" ? 1 : many && !load ? 0.4 : 0.85 });
      });
      this.brokers.forEach((dot, i) => {
        const kind = ofBrokers[i] ?? "broker";
        const radius = load ? 4 + 9 * load.brokers[i] : dot.options.radius;
        this.wear(dot, "b", i, {
          color: kind === "down" ? look.down : look.rim, weight: kind === "down" ? 3 : 1.5,
          fillColor: kind === "down" ? look.rim : look[kind], fillOpacity: 1, ...(load ? { radius } : {}),
        });
      });
      this.paths.forEach((line) => line.remove());
      const lower = (a, b) => (b.kind === "before") - (a.kind === "before"); // what was lies below what is
      this.paths = [...(paint.paths ?? [])].sort(lower).map(({ nodes, at, kind }) => L.polyline(at && this.onMap() ? at : nodes.map((b) => this.place(b)), {
        renderer: this.canvas, interactive: false, color: look[kind], weight: kind === "before" ? 7 : 4.5,
        opacity: kind === "before" ? 0.55 : 0.95, dashArray: kind === "alternate" ? "9 6" : null,
      }).addTo(this.map));
      this.links.forEach((line, i) => ofLinks[i] === "down" && line.bringToFront());
      this.brokers.forEach((dot) => dot.bringToFront());
      this.nameBrokers(ofBrokers, paint);
    },
    nameBrokers(ofBrokers, paint) {
      const wanted = this.told.scene.brokers.length <= NAMED
        ? new Set(this.told.scene.brokers.keys())
        : new Set([...Object.keys(ofBrokers).map(Number), ...(paint.paths ?? []).flatMap(({ nodes }) => nodes)].slice(0, NAMED));
      for (const [i, tip] of this.names) if (!wanted.has(i)) { tip.remove(); this.names.delete(i); }
      const first = [...wanted].sort((a, b) => (b in ofBrokers) - (a in ofBrokers));
      for (const i of first) {
        if (this.names.has(i)) continue;
        const label = document.createElement("span"); // a name is text, whatever it looks like
        label.textContent = this.told.scene.brokers[i];
        const tip = L.tooltip({ permanent: true, direction: "right", offset: [7, 0], className: "rw-name" })
          .setLatLng(this.place(i)).setContent(label).addTo(this.map);
        this.names.set(i, tip);
      }
      this.spaceNames(first);
    },
    // Names that would lie over another name, or over a broker, are left out until there is room.
    spaceNames(order) {
      this.nameOrder = order ?? this.nameOrder ?? [];
      const taken = this.told.scene.brokers.length > 300 ? [] : this.told.scene.brokers.map((_, i) => {
        const { x, y } = this.map.latLngToContainerPoint(this.place(i));
        return [x - 5, y - 5, x + 5, y + 5, i];
      });
      for (const i of this.nameOrder) {
        const tip = this.names.get(i), at = this.map.latLngToContainerPoint(this.place(i));
        const wide = 6.4 * this.told.scene.brokers[i].length;
        const box = [at.x + 8, at.y - 7, at.x + 12 + wide, at.y + 7, i];
        const hit = taken.some((o) => o[4] !== i && o[0] < box[2] && box[0] < o[2] && o[1] < box[3] && box[1] < o[3]);
        tip.setOpacity(hit ? 0 : 1);
        if (!hit) taken.push(box);
      }
    },
    // --- what was clicked -----------------------------------------------------------------
    clicked(e) {
      const at = this.map.latLngToContainerPoint(e.latlng);
      const found = [...this.brokersNear(at), ...this.linksNear(at)].sort((a, b) => a.far - b.far);
      if (!found.length) return this.$emit("pick", { kind: "", id: -1, near: [], lat: e.latlng.lat, lng: e.latlng.lng });
      const near = found.filter((one) => one.far <= found[0].far + CLOSE).slice(0, 8);
      this.$emit("pick", { kind: found[0].kind, id: found[0].id, near: near.map(({ kind, id }) => ({ kind, id })) });
    },
    brokersNear(at) {
      return this.told.scene.brokers.flatMap((_, id) => {
        const far = this.map.latLngToContainerPoint(this.place(id)).distanceTo(at) - 8;
        return far <= 4 ? [{ kind: "broker", id, far: Math.max(far - CLOSE - 1, -CLOSE - 1) }] : [];
      });
    },
    linksNear(at) {
      return this.told.scene.ends.flatMap(([a, b], id) => {
        const p = this.map.latLngToContainerPoint(this.place(a)), q = this.map.latLngToContainerPoint(this.place(b));
        const far = L.LineUtil.pointToSegmentDistance(at, p, q);
        return far <= NEAR ? [{ kind: "link", id, far }] : [];
      });
    },
    // --- a region --------------------------------------------------------------------------
    drawRegion() {
      this.ring?.forEach((layer) => layer.remove());
      this.ring = null;
      if (!this.told.region || !this.onMap()) return; // a sheet has no degrees
      const { lat, lng, km } = this.told.region, look = this.look();
      const circle = L.circle([lat, lng], { radius: km * 1000, color: look.circle, weight: 2, fillOpacity: 0.18, interactive: false }).addTo(this.map);
      const knob = (at, title) => L.marker(at, {
        draggable: true, title, keyboard: true,
        icon: L.divIcon({ className: "rw-knob", iconSize: [20, 20] }),
      }).addTo(this.map);
      const rim = () => L.latLng(circle.getLatLng().lat, circle.getBounds().getEast());
      const middle = knob([lat, lng], "drag the region"), edge = knob(rim(), "drag for another radius");
      const told = () => this.$emit("region", {
        lat: circle.getLatLng().lat, lng: circle.getLatLng().lng,
        km: circle.getRadius() / 1000,
      });
      middle.on("drag", () => { circle.setLatLng(middle.getLatLng()); edge.setLatLng(rim()); });
      edge.on("drag", () => circle.setRadius(this.map.distance(middle.getLatLng(), edge.getLatLng())));
      middle.on("dragend", told);
      edge.on("dragend", told);
      this.ring = [circle, middle, edge];
    },
    // --- for tests and for Python ------------------------------------------------------------
    show(kind, id) {
      const places = kind === "link" ? this.told.scene.ends[id].map((b) => this.place(b)) : [this.place(id)];
      this.map.fitBounds(L.latLngBounds(places).pad(0.6), { animate: false, maxZoom: this.onMap() ? 8 : 9.5 });
    },
    pixel(kind, id) {
      const ends = kind === "link" ? this.told.scene.ends[id] : [id, id];
      const [p, q] = ends.map((b) => this.map.latLngToContainerPoint(this.place(b)));
      const box = this.$el.getBoundingClientRect();
      return [box.x + (p.x + q.x) / 2, box.y + (p.y + q.y) / 2];
    },
  },
};
