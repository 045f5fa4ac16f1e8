/** A method's result that is JSON text already: from another thread, or written piece by piece. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** The JSON text of what a method returned; nothing at all is null. */
export function resultText(result: unknown): string {
  if (result instanceof RawJson) return result.text
  return JSON.stringify(result) ?? 'null'
}
