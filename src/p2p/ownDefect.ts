import { isOwnCode } from '../primitives/location.ts'

/** Errors that the language throws for bugs. Errors of our own decoders and of libp2p are of other classes. */
const PROGRAM_ERRORS: ReadonlySet<unknown> = new Set([TypeError, RangeError, ReferenceError, SyntaxError, URIError])
/** The file of a frame in a stack; frames of Node.js and of the language's functions have no file. */
const FRAME_FILE = /[ (](?:file:\/\/)?(\/[^()]*):\d+:\d+\)?$/

/**
 * Returns whether an error is a bug of this software: a program error that our own code has thrown.
 * What a peer's bytes do is an error of our own classes (`ProtobufError`, `FrameError`,
 * `ConsensusDecodingError`, `BatchError`, …), what a connection does is one of libp2p, of its
 * streams or of a socket; also a program error that is thrown inside of libp2p is not ours, because
 * a peer can bring that about.
 */
export function isOwnDefect(error: unknown): error is Error {
  return error instanceof Error && PROGRAM_ERRORS.has(error.constructor) && isThrownHere(error.stack ?? '')
}

function isThrownHere(stack: string): boolean {
  for (const line of stack.split('\n')) {
    const file = FRAME_FILE.exec(line)?.[1]
    if (file !== undefined) return isOwnCode(file)
  }
  return false
}
