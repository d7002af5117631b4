// Browsers start no worker from a file. There, the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.inside.document.createElement("script");
      script.text = "window.postMessage = (data) => window.answer(data)";
      this.inside.document.body.append(script);
      const worker = this.inside.document.createElement("script");
      this.ready = new Promise((loaded) => (worker.onload = loaded));
      worker.src = address;
      this.inside.document.body.append(worker);
    }
    async postMessage(data) {
      await this.ready;
      this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }
    terminate() {}
  };
  window.Worker = window.IFrameWorker;
}
