import type { Stream } from '@libp2p/interface'
import { readAnswer } from './frameStream.ts'
import { decodeGreeting, type Greeting } from './hello.ts'
import { LIMITS } from './limits.ts'

/**
 * The other end's greeting, which is all that it may send on the stream.
 * @throws PeerTimeout, FrameError, ProtobufError, or what ended the stream
 */
export async function readGreeting(stream: Stream): Promise<Greeting> {
  let greeting: Greeting | undefined
  const bounds = {
    frameBytes: LIMITS.helloBytes,
    totalBytes: LIMITS.helloBytes,
    idleMs: LIMITS.helloMs,
    totalMs: LIMITS.helloMs,
  }
  await readAnswer(stream, bounds, (body) => {
    greeting = decodeGreeting(body)
    return true
  })
  return greeting!
}
