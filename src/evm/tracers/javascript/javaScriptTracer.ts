import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { QuickJSHandle } from 'quickjs-emscripten-core'
import { bigIntToBytes, bytesToHex, EMPTY_BYTES, hexToBytes, padLeft } from '../../../primitives/bytes.ts'
import { create2Address, createAddress } from '../../contractAddress.ts'
import { OP, opcodeName } from '../../opcodes.ts'
import { isStandardPrecompile } from '../../precompileAddresses.ts'
import type { FrameEnter, FrameExit, OpcodeStep, Tracer, TransactionStart } from '../../tracer.ts'
import { paddedMemory } from '../paddedMemory.ts'
import {
  type TraceBudget,
  type TraceCollector,
  type TraceContext,
  TraceError,
  type TracerConfig,
} from '../traceCollector.ts'
import { type HostFunctions, PRELUDE } from './prelude.ts'
import { type HostFunction, QuickJs, type Realm, type ScriptTimer } from './quickJs.ts'

const require = createRequire(import.meta.url)
let library: string | undefined

/** Reads the source of big-integer, whose numbers geth's tracers compute with. */
function bigIntegerSource(): string {
  library ??= readFileSync(require.resolve('big-integer/BigInteger.min.js'), 'utf8')
  return library
}

const OPCODE_NAMES = Array.from({ length: 256 }, (_, opcode) => opcodeName(opcode)).join(',')
const HAS_STEP = 1
const HAS_FRAMES = 2
/** After these a call ends without an error of theirs: only a creation may still fail, for its code. */
const LAST_OPCODES = new Set<number>([OP.STOP, OP.RETURN])

/** Nesting depth of a result's lists and objects: deeper ones overflow the stack when they are serialized. */
const MAX_DEPTH = 1_000
/** Characters that each value in a result counts in addition to its text: `{}` takes 64 bytes of memory. */
const VALUE_LENGTH = 8

type TracerFunction = 'step' | 'fault' | 'enter' | 'exit' | 'result'

/** A call that is running. */
interface OpenFrame {
  readonly enter: FrameEnter
  /** of the opcode that ran last in it, and did not fail before it began */
  lastStep: OpcodeStep | undefined
}

/**
 * Opens a sandbox for the tracers of one request.
 * @returns what makes a tracer of its code
 */
export async function openScripts(timer: ScriptTimer): Promise<NonNullable<TraceContext['createScript']>> {
  const quickJs = await QuickJs.open(timer)
  return (code, config, context) => createJavaScriptTracer(code, config, context, quickJs)
}

/**
 * Creates a tracer that the client sent: an expression whose value has the functions `result` and
 * `fault`, and perhaps `setup`, `step`, `enter` and `exit`. They get the same arguments as in geth
 * (eth/tracers/js). It runs in a realm of its own.
 * @throws TraceError when it is not such an expression
 */
function createJavaScriptTracer(
  code: string,
  config: TracerConfig,
  context: TraceContext,
  quickJs: QuickJs,
): TraceCollector {
  const realm = quickJs.createRealm()
  const run = new ScriptRun(realm, context)
  const has = run.open(code, JSON.stringify(config))
  const tracer: Tracer = {
    onTransactionStart: (start) => run.start(start),
    onTransactionEnd: ({ gasUsed }) => run.end(gasUsed),
    // Frames are needed for a step's data about its call, and steps for the opcode of a fault.
    onEnter: (enter) => run.enter(enter, (has & HAS_FRAMES) !== 0),
    onExit: (exit) => run.exit(exit, (has & HAS_FRAMES) !== 0),
    onOpcode: (step) => run.step(step, (has & HAS_STEP) !== 0),
  }
  return {
    tracer,
    result() {
      try {
        return run.result()
      } finally {
        realm.dispose()
      }
    },
  }
}

class ScriptRun {
  readonly #realm: Realm
  readonly #context: TraceContext
  readonly #functions = new Map<TracerFunction, QuickJSHandle>()
  readonly #frames: OpenFrame[] = []
  /** what `result` gets as its first argument */
  readonly #fields: Record<string, string | number>
  #start: TransactionStart | undefined
  #step: OpcodeStep | undefined
  #error: string | undefined
  #entered: FrameEnter | undefined
  #output: Uint8Array = EMPTY_BYTES
  /** why the script runs no more */
  #failure: TraceError | undefined

  constructor(realm: Realm, context: TraceContext) {
    this.#realm = realm
    this.#context = context
    const { blockHash, transactionHash, transactionIndex } = context
    this.#fields = {
      ...(blockHash === undefined ? {} : { blockHash: bytesToHex(blockHash) }),
      ...(blockHash === undefined || transactionHash === undefined
        ? {}
        : { txIndex: transactionIndex, txHash: bytesToHex(transactionHash) }),
    }
  }

  /** @returns which functions the tracer has: `HAS_…` */
  open(code: string, config: string): number {
    const realm = this.#realm
    const host = realm.hostObject(this.#hostFunctions() as unknown as Readonly<Record<string, HostFunction>>)
    const names = realm.evaluate(JSON.stringify(OPCODE_NAMES))
    const api = realm.call(realm.evaluate(PRELUDE), host, names)
    const opened = this.#guarded(undefined, () =>
      realm.number(realm.call(realm.property(api, 'open'), realm.evaluate(`(${code}\n)`), config)),
    )
    if (this.#failure !== undefined) throw this.#failure
    for (const name of ['step', 'fault', 'enter', 'exit', 'result'] as const) {
      this.#functions.set(name, realm.property(api, name))
    }
    api.dispose()
    return opened!
  }

  start(start: TransactionStart): void {
    this.#start = start
    Object.assign(this.#fields, {
      block: this.#context.blockNumber,
      gas: Number(start.gasLimit),
      // As in geth 1.17: the validator's tip per unit of gas.
      gasPrice: start.effectiveTip.toString(),
      coinbase: bytesToHex(start.coinbase),
    })
  }

  end(gasUsed: bigint): void {
    this.#fields['gasUsed'] = Number(gasUsed)
  }

  enter(enter: FrameEnter, isShown: boolean): void {
    this.#frames.push({ enter, lastStep: undefined })
    const { depth, type, from, to, input, value } = enter
    if (depth === 0) {
      Object.assign(this.#fields, {
        type: type === 'CREATE' ? 'CREATE' : 'CALL',
        from: bytesToHex(from),
        to: bytesToHex(to),
        input: bytesToHex(input),
        value: (value ?? 0n).toString(),
      })
    } else if (isShown) {
      this.#entered = enter
      this.#call('enter')
    }
  }

  exit({ depth, output, gasUsed, error }: FrameExit, isShown: boolean): void {
    const last = this.#frames.at(-1)?.lastStep
    if (error !== undefined && last !== undefined && !LAST_OPCODES.has(last.op)) this.#fault(last, error)
    this.#frames.pop()
    if (depth === 0) {
      this.#fields['output'] = bytesToHex(output)
      if (error !== undefined) this.#fields['error'] = error
    } else if (isShown) {
      this.#output = output
      this.#error = error
      this.#call('exit', Number(gasUsed))
    }
  }

  step(step: OpcodeStep, isShown: boolean): void {
    const frame = this.#frames.at(-1)
    if (frame !== undefined) frame.lastStep = step.error === undefined ? step : undefined
    if (isShown) this.#show('step', step, step.error)
  }

  /** @throws TraceError when the script has failed, or its result is too long */
  result(): unknown {
    const text = this.#guarded('result', () => {
      const value = this.#realm.call(this.#functions.get('result')!, JSON.stringify(this.#fields))
      return this.#realm.text(value, (length) => this.#context.budget.spend(length))
    })
    this.#context.budget.check()
    if (this.#failure !== undefined || text === undefined) throw this.#failure ?? new TraceError('execution timeout')
    return parseResult(text, this.#context.budget)
  }

  #fault(step: OpcodeStep, error: string): void {
    this.#show('fault', step, error)
  }

  #show(name: 'step' | 'fault', step: OpcodeStep, error: string | undefined): void {
    if (this.#failure !== undefined) return
    this.#step = step
    this.#error = error
    const { pc, op, gas, gasCost, depth, refund, stack, memory } = step
    const numbers = [pc, op, Number(gas), Number(gasCost), depth, Number(refund), stack.length, memory.length]
    this.#call(name, ...numbers, error === undefined ? 0 : 1)
  }

  #call(name: TracerFunction, ...args: readonly number[]): void {
    this.#guarded(name, () => this.#realm.invoke(this.#functions.get(name)!, ...args))
  }

  /** Runs the script unless it has failed; keeps why it fails. */
  #guarded<T>(name: TracerFunction | undefined, work: () => T): T | undefined {
    if (this.#failure !== undefined) return undefined
    try {
      const value = work()
      // A script may catch an error that the host throws, and fails all the same.
      if (this.#failure === undefined) return value
    } catch (error) {
      if (!(error instanceof TraceError)) throw error
      this.#failure ??= error
    }
    const { message } = this.#failure as TraceError
    if (name !== undefined) this.#failure = new TraceError(`${message}    in server-side tracer function '${name}'`)
    return undefined
  }

  /** Returns all functions that the script may call. The script chooses their arguments, so they are checked. */
  #hostFunctions(): HostFunctions {
    const world = () => this.#start?.world ?? this.#fail('there is no state yet')
    const step = (): OpcodeStep => this.#step ?? this.#fail('no opcode runs')
    const frame = (): FrameEnter => this.#frames.at(-1)?.enter ?? this.#fail('no call runs')
    const entered = (): FrameEnter => this.#entered ?? this.#fail('no call begins')
    return {
      fail: (message) => this.#fail(String(message)),
      library: bigIntegerSource,
      stack: (index) => (step().stack.at(-1 - index) ?? 0n).toString(),
      memory: (offset, length) => {
        const bytes = paddedMemory(step().memory, BigInt(offset), BigInt(length))
        const padding = offset + length - step().memory.length
        return bytes ?? this.#fail(`reached limit for padding memory slice: ${padding}`)
      },
      caller: () => step().caller,
      address: () => step().address,
      callValue: () => (frame().value ?? 0n).toString(),
      callInput: () => (isCreation(frame()) ? EMPTY_BYTES : frame().input),
      error: () => this.#error,
      frame: () => describeFrame(entered()),
      frameInput: () => entered().input,
      output: () => this.#output,
      balance: (address) => world().getBalance(bytesOf(address, 20)).toString(),
      nonce: (address) => Number(world().getNonce(bytesOf(address, 20))),
      code: (address) => world().getCode(bytesOf(address, 20)),
      storage: (address, slot) => padLeft(world().getStorage(bytesOf(address, 20), bytesOf(slot, 32)), 32),
      exists: (address) => world().exists(bytesOf(address, 20)),
      isPrecompiled: (address) => isStandardPrecompile(bytesOf(address, 20), this.#context.fork),
      createAddress: (creator, nonce) =>
        createAddress(bytesOf(creator, 20), BigInt(Math.min(Math.max(0, nonce), Number.MAX_SAFE_INTEGER))),
      create2Address: (creator, salt, initCode) =>
        create2Address(bytesOf(creator, 20), bytesOf(salt, 32), hexToBytes(`0x${initCode}`)),
    }
  }

  /** Ends the script, even one that catches this. */
  #fail(message: string): never {
    this.#failure ??= new TraceError(message)
    throw this.#failure
  }
}

/**
 * Parses the text of the script's result. The script may have replaced it by any other text.
 * @throws TraceError when it is not JSON, too deep to be written as JSON again, or too large in
 * memory
 */
function parseResult(text: string, budget: TraceBudget): unknown {
  let values = 0
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') isInString = !isInString
    else if (isInString) at += char === '\\' ? 1 : 0
    else if (char === '{' || char === '[') {
      values++
      if (++depth > MAX_DEPTH) throw new TraceError('the result of the tracer is nested too deep')
    } else if (char === '}' || char === ']') depth--
    else if (char === ',') values++
  }
  budget.spend(values * VALUE_LENGTH)
  budget.check()
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) throw new TraceError('the tracer has no result')
    throw error
  }
}

function isCreation({ type }: FrameEnter): boolean {
  return type === 'CREATE' || type === 'CREATE2'
}

function describeFrame({ type, from, to, gas, value }: FrameEnter): string {
  return JSON.stringify({
    type,
    from: bytesToHex(from),
    to: bytesToHex(to),
    gas: Number(gas),
    ...(value === undefined ? {} : { value: value.toString() }),
  })
}

/** @throws Error when the script gave anything else */
function bytesOf(hex: string, length: number): Uint8Array {
  const value = BigInt(`0x${hex}`)
  return bigIntToBytes(value, length)
}
