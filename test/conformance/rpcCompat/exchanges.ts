import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One request and the reply that is expected. */
export interface Exchange {
  readonly request: { readonly method: string; readonly params?: readonly unknown[] }
  readonly reply: Reply
}

export type Reply =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly data?: unknown } }

/** A case of the suite: `eth_call/call-revert` with its exchanges in order. */
export interface RpcCase {
  readonly name: string
  /** the values of a result are free: only its shape is prescribed */
  readonly specOnly: boolean
  readonly exchanges: readonly Exchange[]
}

/** The cases below `directory` in the suite's order: by path. */
export function readCases(directory: string): RpcCase[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.io'))
    .sort()
    .map((path) => readCase(path.slice(0, -'.io'.length), readFileSync(join(directory, path), 'utf8')))
}

/** Without the envelope. */
function replyOf(reply: Reply): Reply {
  return 'error' in reply ? { error: reply.error } : { result: reply.result }
}

function readCase(name: string, text: string): RpcCase {
  const lines = text.split('\n')
  const parsed = (mark: string): unknown[] =>
    lines.filter((line) => line.startsWith(mark)).map((line) => JSON.parse(line.slice(mark.length)))
  const replies = parsed('<< ')
  return {
    name,
    specOnly: lines.some((line) => line.startsWith('// speconly:')),
    exchanges: parsed('>> ').map((request, index) => ({
      request: request as Exchange['request'],
      reply: replyOf(replies[index] as Reply),
    })),
  }
}
