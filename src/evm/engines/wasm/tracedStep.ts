import {
  FRAME_ADDRESS,
  FRAME_CALLER,
  FRAME_RETURN_DATA,
  FRAME_RETURN_DATA_LENGTH,
} from '../../../../assembly/constants.ts'
import type { Address } from '../../../primitives/address.ts'
import type { OpcodeStep } from '../../tracer.ts'
import type { LinearMemory } from './linearMemory.ts'

const ADDRESS_BYTES = 20
const WORD_BYTES = 32

/** Where the machine keeps what a step shows. */
export interface StepPointers {
  /** lowest word of the stack */
  readonly stack: number
  /** top word; one word below `stack` when there is none */
  readonly top: number
  readonly memory: number
  readonly memoryLength: number
  readonly frame: number
}

/** A step that takes out of the machine's memory what is asked for. Valid as long as the hook that it is given to. */
export class TracedStep implements OpcodeStep {
  readonly pc: number
  readonly op: number
  readonly gas: bigint
  readonly gasCost: bigint
  readonly depth: number
  readonly refund: bigint
  readonly error: string | undefined
  readonly #machine: LinearMemory
  readonly #at: StepPointers
  #stack: bigint[] | undefined

  constructor(
    machine: LinearMemory,
    at: StepPointers,
    fields: Pick<OpcodeStep, 'pc' | 'op' | 'gas' | 'gasCost' | 'depth' | 'refund' | 'error'>,
  ) {
    this.pc = fields.pc
    this.op = fields.op
    this.gas = fields.gas
    this.gasCost = fields.gasCost
    this.depth = fields.depth
    this.refund = fields.refund
    this.error = fields.error
    this.#machine = machine
    this.#at = at
  }

  get stack(): readonly bigint[] {
    if (this.#stack === undefined) {
      const { stack, top } = this.#at
      this.#stack = []
      for (let word = stack; word <= top; word += WORD_BYTES) this.#stack.push(this.#machine.readWord(word))
    }
    return this.#stack
  }

  get memory(): Uint8Array {
    const { memory, memoryLength } = this.#at
    return this.#machine.bytes.subarray(memory, memory + memoryLength)
  }

  get returnData(): Uint8Array {
    const { view, bytes } = this.#machine
    const start = view.getUint32(this.#at.frame + FRAME_RETURN_DATA, true)
    return bytes.subarray(start, start + view.getUint32(this.#at.frame + FRAME_RETURN_DATA_LENGTH, true))
  }

  get address(): Address {
    return this.#machine.copy(this.#at.frame + FRAME_ADDRESS, ADDRESS_BYTES)
  }

  get caller(): Address {
    return this.#machine.copy(this.#at.frame + FRAME_CALLER, ADDRESS_BYTES)
  }
}
