import type { Address } from '../../src/primitives/address.ts'
import { assemble, repeat } from '../code/assemble.ts'

/** A contract to measure. It is called with one word of data: the first index of the accounts and slots that are its own. */
export interface Program {
  readonly name: string
  readonly code: Uint8Array
  /** other contracts that it needs */
  readonly helpers?: readonly Helper[]
  /** it succeeds, and committing what it wrote costs time too */
  readonly commits?: boolean
}

export interface Helper {
  readonly address: Address
  readonly code: Uint8Array
}

export interface LoopOptions {
  /** runs once, before the loop */
  readonly setup?: string
  /** how often the body is repeated in a round */
  readonly unroll?: number
  /** The loop ends successfully while this much gas is left. */
  readonly reserve?: number
}

/** Returns a loop that runs until its gas is used up, or down to a reserve. The body leaves the stack as it was. */
export function endless(body: string, { setup = '', unroll = 64, reserve }: LoopOptions = {}): Uint8Array {
  const again = reserve === undefined ? '@round JUMP' : `GAS ${reserve} LT @round JUMPI STOP`
  return assemble(`${setup} :round ${repeat(body, unroll)} ${again}`)
}

export function loop(name: string, body: string, options: LoopOptions & Pick<Program, 'helpers'> = {}): Program {
  const { helpers = [] } = options
  return { name, code: endless(body, options), helpers, commits: options.reserve !== undefined }
}

/** Returns a contract next to the program; the first has number 1. */
export function helper(number: number, program: string | Uint8Array): Helper {
  const address = new Uint8Array(20).fill(0xc0)
  new DataView(address.buffer).setUint32(16, number)
  return { address, code: typeof program === 'string' ? assemble(program) : program }
}
