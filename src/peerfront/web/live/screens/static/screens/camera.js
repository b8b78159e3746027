// Reads a QR code with the camera into the scan box of the same form, and sends the form. Only a time saver: typing and
// scanners that type work as before.

const PROBLEMS = { NotAllowedError: "refused", SecurityError: "refused", NotFoundError: "missing", OverconstrainedError: "missing" };
const PAUSE = 100; // milliseconds between two looks

const pause = () => new Promise((go) => setTimeout(go, PAUSE));

async function qrReader(address) {
  // The browser's own reader where it knows QR codes, otherwise the one that comes with the page.
  const known = (await window.BarcodeDetector?.getSupportedFormats().catch(() => [])) ?? [];
  const Reader = known.includes("qr_code") ? window.BarcodeDetector : (await import(address)).BarcodeDetector;
  return new Reader({ formats: ["qr_code"] });
}

async function mayHaveCamera() {
  // Without https the browser hides its cameras: touch screens have one, and are told why it does not start.
  if (!navigator.mediaDevices) return matchMedia("(pointer: coarse)").matches;
  const devices = await navigator.mediaDevices.enumerateDevices().catch(() => []);
  return devices.some((each) => each.kind === "videoinput");
}

function addCamera(part) {
  const form = part.closest("form");
  const [start, stop] = part.querySelectorAll("button");
  const video = part.querySelector("video");
  let isWanted = false;
  let stream = null;

  const say = (problem) => {
    part.querySelectorAll("[data-problem]").forEach((each) => (each.hidden = each.dataset.problem !== problem));
  };
  const show = (isOn) => {
    start.hidden = isOn;
    stop.hidden = video.hidden = !isOn;
  };
  const end = () => {
    isWanted = false;
    stream?.getTracks().forEach((track) => track.stop());
    stream = video.srcObject = null;
    show(false);
  };
  const look = async () => {
    say(null);
    if (!navigator.mediaDevices) return say("insecure");
    isWanted = start.disabled = true;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", width: { ideal: 1280 } } });
      video.srcObject = stream;
      show(true);
      const [reader] = await Promise.all([qrReader(part.dataset.camera), video.play()]);
      while (isWanted) {
        const [found] = await reader.detect(video).catch(() => []);
        if (isWanted && found?.rawValue) {
          form.querySelector("input.scan").value = found.rawValue;
          form.requestSubmit();
          break;
        }
        if (isWanted && !stream.active) throw new Error("the camera was taken away");
        await pause();
      }
    } catch (error) {
      if (isWanted) say(PROBLEMS[error.name] ?? "busy");
    } finally {
      start.disabled = false;
      end();
    }
  };
  start.addEventListener("click", look);
  stop.addEventListener("click", end);
  window.addEventListener("pagehide", end);
  document.addEventListener("visibilitychange", () => document.hidden && end());
  mayHaveCamera().then((mayHave) => (part.hidden = !mayHave));
}

document.querySelectorAll("[data-camera]").forEach(addCamera);
