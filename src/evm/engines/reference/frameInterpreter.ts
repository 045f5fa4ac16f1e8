import { EVM, EVMError, EVMMockBlockchain, type ExecResult, type Message } from '@ethereumjs/evm'
import { type Address, createZeroAddress } from '@ethereumjs/util'
import { bytesToBigInt, EMPTY_BYTES } from '../../../primitives/bytes.ts'
import type { WorldState } from '../../../state/world.ts'
import { OP } from '../../opcodes.ts'
import { createChainCommon } from './chainCommon.ts'
import { evmCrypto } from './evmCrypto.ts'
import { recordUnpriced } from './failures.ts'
import { constantGas } from './opcodeGas.ts'
import { stackFault } from './stackBounds.ts'

type FrameState = NonNullable<ExecResult['runState']>
type StockInterpreter = FrameState['interpreter']
type RunResult = Awaited<ReturnType<StockInterpreter['run']>>

type InterpreterConstructor = new (
  evm: EVM,
  stateManager: EVM['stateManager'],
  blockchain: EVM['blockchain'],
  env: FrameState['env'],
  gasLeft: bigint,
  journal: EVM['journal'],
  performanceLogs: EVM['performanceLogger'],
) => StockInterpreter

const { JUMP, JUMPI, JUMPDEST, PUSH1, PUSH32 } = OP
const STOP = 'stop'
/** A byte that is not an opcode in any fork. */
const UNUSED_OPCODE = 0x0c

/** Where code may jump to, and what its PUSH opcodes push, by the offset of the pushed bytes. */
interface Analysis {
  readonly validJumps: Uint8Array
  readonly pushes: bigint[]
}

/** by the code's array, since the world returns the same array for the same code */
const analyses = new WeakMap<Uint8Array, Analysis>()

const Stock = await findInterpreter()

/**
 * The interpreter of `@ethereumjs/evm` with another loop: it waits only for opcodes that wait for something, where the stock
 * loop waits twice for each opcode, and it analyses the same code once. Gas, handlers and step events are the same.
 */
export class FrameInterpreter extends Stock {
  /** Called at each JUMPDEST, which every loop has; the frame waits for the promise that it returns. */
  pause: ((frame: FrameState) => Promise<void> | undefined) | undefined

  override async run(code: Uint8Array): Promise<RunResult> {
    const state = this._runState
    state.code = code
    try {
      await this.#loop(state, code)
    } catch (error) {
      if (!(error instanceof EVMError)) throw error
      if (error.error !== STOP) return { runState: state, exceptionError: error }
    }
    return { runState: state }
  }

  /** Lets a call of more than the account may spend fail like one of more than it has. */
  override async _baseCall(message: Message): Promise<bigint> {
    if (message.delegatecall || this.#canSpend(message.value)) return super._baseCall(message)
    return this.#refused()
  }

  override async create(...args: Parameters<StockInterpreter['create']>): Promise<bigint> {
    const [, value] = args
    return this.#canSpend(value) ? super.create(...args) : this.#refused()
  }

  /** Runs a self-destruct, which does not move locked coins. */
  override async _selfDestruct(beneficiary: Address): Promise<void> {
    const world = this.#world
    const { address, contract } = this._env
    const locked = world.getBalance(address.bytes) - world.getSpendable(address.bytes)
    if (locked === 0n) return super._selfDestruct(beneficiary)
    contract.balance -= locked
    try {
      return await super._selfDestruct(beneficiary)
    } finally {
      // A zero balance here means that the self-destruct moved the coins: the locked ones stay.
      if (world.getBalance(address.bytes) === 0n) world.setBalance(address.bytes, locked)
    }
  }

  /** The EVM that a frame runs in is a ChainEVM. */
  get #world(): WorldState {
    return (this._evm as unknown as { readonly world: WorldState }).world
  }

  #canSpend(value: bigint): boolean {
    return value === 0n || !this.#world.hasVesting() || this.#world.getSpendable(this._env.address.bytes) >= value
  }

  #refused(): bigint {
    this._runState.returnBytes = EMPTY_BYTES
    return 0n
  }

  /** Notes whether a failing opcode could pay the fixed part of its price: that decides geth's name for the failure. */
  #noteUnpriced(state: FrameState, opcode: number, fee: bigint): void {
    const constant = constantGas(opcode, fee, this.common.isActivatedEIP(2929))
    if (state.gasLeft < constant) recordUnpriced(state)
  }

  async #loop(state: FrameState, code: Uint8Array): Promise<void> {
    const { common, pause } = this
    const table = this._evm['_opcodeMap']
    const stepping = this._evm.events.listenerCount('step') > 0
    let analysed = false
    while (state.programCounter < code.length) {
      const opcode = code[state.programCounter]!
      if (!analysed && (opcode === JUMP || opcode === JUMPI)) {
        const { validJumps, pushes } = analysisOf(code)
        state.validJumps = validJumps
        state.cachedPushes = pushes
        state.shouldDoJumpAnalysis = false
        analysed = true
      }
      state.opCode = opcode
      const { opcodeInfo, gasHandler, opHandler } = table[opcode]!
      const memoryWords = state.memoryWordCount
      let gas = opcodeInfo.feeBigInt
      if (opcodeInfo.dynamicGas) {
        try {
          const dynamic = gasHandler(state, gas, common)
          gas = typeof dynamic === 'bigint' ? dynamic : await dynamic
        } catch (error) {
          if (error instanceof EVMError) {
            this.#noteUnpriced(state, opcode, opcodeInfo.feeBigInt)
            if (stepping) await this._runStepHook(gas, state.gasLeft, memoryWords)
          }
          throw error
        }
      }
      if (stepping) await this._runStepHook(gas, state.gasLeft, memoryWords)
      const fault = stackFault(opcodeInfo.code, state.stack.length)
      if (fault !== undefined) throw new EVMError(fault)
      if (opcodeInfo.isInvalid) throw new EVMError('invalid opcode')
      if (state.gasLeft < gas) {
        this.#noteUnpriced(state, opcode, opcodeInfo.feeBigInt)
        state.gasLeft = 0n
        throw new EVMError('out of gas')
      }
      // every opcode is charged here, SSTORE too: `gas` is what its gas handler gave
      state.gasLeft -= gas
      state.programCounter++
      if (pause !== undefined && opcode === JUMPDEST) {
        const pausing = pause(state)
        if (pausing !== undefined) await pausing
      }
      if (opcodeInfo.isAsync) await opHandler(state, common)
      else opHandler(state, common)
    }
  }
}

function analysisOf(code: Uint8Array): Analysis {
  let analysis = analyses.get(code)
  if (analysis === undefined) {
    analysis = analyse(code)
    analyses.set(code, analysis)
  }
  return analysis
}

function analyse(code: Uint8Array): Analysis {
  const validJumps = new Uint8Array(code.length)
  const pushes: bigint[] = []
  for (let at = 0; at < code.length; at++) {
    const opcode = code[at]!
    if (opcode === JUMPDEST) validJumps[at] = 1
    if (opcode < PUSH1 || opcode > PUSH32) continue
    const length = opcode - PUSH1 + 1
    const bytes = code.subarray(at + 1, at + 1 + length)
    pushes[at + 1] = bytesToBigInt(bytes) << BigInt(8 * (length - bytes.length))
    at += length
  }
  return { validJumps, pushes }
}

/** `@ethereumjs/evm` does not export its interpreter's class: an opcode of our own takes it from the running instance. */
async function findInterpreter(): Promise<InterpreterConstructor> {
  let found: unknown
  const evm = new EVM({
    common: createChainCommon({ fork: 'cancun', chainId: 1n }),
    blockchain: new EVMMockBlockchain(),
    stateManager: { getAccount: async () => undefined } as unknown as EVM['stateManager'],
    bls: evmCrypto.bls,
    bn254: evmCrypto.bn254,
    customOpcodes: [
      {
        opcode: UNUSED_OPCODE,
        opcodeName: 'FIND',
        baseFee: 0,
        logicFunction: (frame) => {
          found = frame.interpreter.constructor
        },
      },
    ],
  })
  await evm.runCode({ code: Uint8Array.of(UNUSED_OPCODE), gasLimit: 1n, to: createZeroAddress() })
  if (found === undefined) throw new Error('the interpreter of @ethereumjs/evm was not found')
  return found as InterpreterConstructor
}
