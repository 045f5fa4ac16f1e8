/**
 * The JSON text of a result. A long one is bytes, in UTF-8: these move between threads and to
 * clients without a copy, while a long string is copied, and garbage-collected, at each step.
 */
export type ResultText = string | Uint8Array

/** A long result with the first and the last characters of its answer. */
interface LongAnswer {
  readonly start: string
  readonly result: Uint8Array
  readonly end: string
}

/** An answer as it goes to its client. */
export type AnswerText = string | LongAnswer

/** From this length on, a text from another thread is bytes. */
const LONG = 16_384

const encoder = new TextEncoder()

/** Packs a text for another thread. When it becomes bytes, they have a buffer of their own. */
export function packText(text: string): ResultText {
  // Not by `Buffer`, whose bytes may be part of a pool, which cannot be moved.
  return text.length < LONG ? text : encoder.encode(text)
}

export function textOf(result: ResultText): string {
  return typeof result === 'string' ? result : bufferOf(result).toString('utf8')
}

/** Returns the answer to a request with this id (JSON text). */
export function resultAnswer(id: string, result: ResultText): AnswerText {
  const start = `{"jsonrpc":"2.0","id":${id},"result":`
  return typeof result === 'string' ? `${start}${result}}` : { start, result, end: '}' }
}

/** Returns the text of an answer that becomes part of a longer one. */
export function answerString(answer: AnswerText): string {
  return typeof answer === 'string' ? answer : `${answer.start}${textOf(answer.result)}${answer.end}`
}

export function answerBuffer(answer: AnswerText): Buffer {
  if (typeof answer === 'string') return Buffer.from(answer)
  return Buffer.concat([Buffer.from(answer.start), answer.result, Buffer.from(answer.end)])
}

/** Returns the length in bytes. */
export function answerLength(answer: AnswerText): number {
  if (typeof answer === 'string') return Buffer.byteLength(answer)
  return Buffer.byteLength(answer.start) + answer.result.length + answer.end.length
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
