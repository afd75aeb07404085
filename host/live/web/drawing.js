// Draws the columns of samples: the range of each channel, and the levels of frequency bands.

export const SHOWN = 500;
export const COLORS = ["#f0a067", "#74aee8", "#7fcf91", "#bb97ea", "#e8b04a", "#4fc3b5"];

export class Drawing {
  constructor(waveform, spectrogram) {
    this.waveform = waveform;
    this.spectrogram = spectrogram;
    this.columns = [];
  }

  clear() { this.columns = []; }

  add(columns) {
    this.columns.push(...columns);
    this.columns.splice(0, Math.max(0, this.columns.length - SHOWN));
  }

  draw(bands) {
    this.drawWaveform();
    this.spectrogram.hidden = !bands;
    if (bands) this.drawSpectrogram(bands);
  }

  drawWaveform() {
    const { width, height } = this.waveform, context = this.waveform.getContext("2d");
    context.clearRect(0, 0, width, height);
    const channels = this.columns[0]?.low.length ?? 0;
    let most = 1;
    for (const column of this.columns) {
      for (let c = 0; c < channels; c++) most = Math.max(most, Math.abs(column.low[c]), Math.abs(column.high[c]));
    }
    for (let c = 0; c < channels; c++) {
      context.fillStyle = COLORS[c % COLORS.length];
      this.columns.forEach((column, k) => {
        // A column reaches to the one before it, so that slow samples are a line and no dots.
        const before = this.columns[Math.max(k - 1, 0)];
        const high = Math.max(column.high[c], before.low[c]), low = Math.min(column.low[c], before.high[c]);
        const top = height / 2 * (1 - high / most), bottom = height / 2 * (1 - low / most);
        context.fillRect(k * width / SHOWN, top, width / SHOWN, Math.max(bottom - top, 1));
      });
    }
  }

  drawSpectrogram(bands) {
    const context = this.spectrogram.getContext("2d"), image = context.createImageData(SHOWN, bands);
    this.columns.forEach((column, k) => {
      for (let band = 0; band < bands; band++) {
        const level = column.bands?.[band] ?? 0, at = 4 * ((bands - 1 - band) * SHOWN + k);
        image.data[at] = level;
        image.data[at + 1] = level * level / 255;
        image.data[at + 2] = 60 * Math.sin(level / 255 * Math.PI);
        image.data[at + 3] = 255;
      }
    });
    context.putImageData(image, 0, 0);
  }
}
