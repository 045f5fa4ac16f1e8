import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type {
  QuickJSContext,
  QuickJSHandle,
  QuickJSRuntime,
  QuickJSSyncVariant,
  QuickJSWASMModule,
} from 'quickjs-emscripten-core'
import { type WasmModule, WebAssembly } from '../../../primitives/webAssembly.ts'
import { TraceError } from '../traceCollector.ts'
import { FUEL, meterFuel } from './meterFuel.ts'

/** Bytes of objects, strings and code in one realm. */
const HEAP_BYTES = 64 * 1024 * 1024
/** Pages of 64 KiB: the heap, the data that pass between host and sandbox, and the gaps between its pieces. */
const FIRST_PAGES = 256
const MOST_PAGES = 2_560
const STACK_BYTES = 256 * 1024
/** Milliseconds that all scripts of a request may take before others have their turn: as long nothing else runs in the thread. */
const TURN_MS = 1_000
/** Turns of loops and calls inside of the interpreter between two looks at the clock: about 200 ms. */
const FUEL_AT_A_TIME = 100_000_000
const LONGEST_MESSAGE = 1_000
/** Types of thrown values that are shown unchanged. */
const PLAIN_TYPES: ReadonlySet<string> = new Set(['number', 'boolean', 'undefined'])

const require = createRequire(import.meta.url)

/** Time limit of scripts. */
export interface ScriptTimer {
  readonly nowMs: () => number
  readonly deadlineMs: number
  /** how often others have had their turn in this thread */
  readonly turns: () => number
}

/** A function that a realm may call; an error that it throws is thrown in the realm. */
export type HostFunction = (...args: (string | number)[]) => string | number | boolean | Uint8Array | undefined

/** The exports of the Emscripten module that are used in addition to quickjs-emscripten-core. */
interface WasmExports {
  readonly [FUEL]: { value: number }
}

let compiled: Promise<WasmModule> | undefined

/** Compiles QuickJS, with a meter; all sandboxes of the thread share the code. */
function compileQuickJs(): Promise<WasmModule> {
  compiled ??= readFile(require.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')).then((bytes) =>
    WebAssembly.compile(meterFuel(bytes)),
  )
  return compiled
}

/**
 * QuickJS in a WebAssembly instance of its own, which nothing else uses and whose memory goes with it. What traps in it, or overflows the
 * stack, leaves it in an unknown state: it runs nothing then.
 */
export class QuickJs {
  readonly #module: QuickJSWASMModule
  readonly #fuel: { value: number }
  readonly #timer: ScriptTimer
  #callEndMs = 0
  #turn = -1
  #turnLeftMs = TURN_MS
  #isLate = false
  #isDead = false

  private constructor(
    module: QuickJSWASMModule,
    { fuel, timer }: { readonly fuel: { value: number }; readonly timer: ScriptTimer },
  ) {
    this.#module = module
    this.#fuel = fuel
    this.#timer = timer
  }

  static async open(timer: ScriptTimer): Promise<QuickJs> {
    const [code, core, variant] = await Promise.all([
      compileQuickJs(),
      import('quickjs-emscripten-core'),
      import('@jitl/quickjs-wasmfile-release-sync'),
    ])
    const memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: MOST_PAGES })
    let fuel: { value: number } | undefined
    const options = {
      wasmMemory: memory,
      instantiateWasm: (imports: never, onSuccess: (instance: object) => void): object => {
        const instance = new WebAssembly.Instance(code, imports)
        fuel = (instance.exports as WasmExports)[FUEL]
        fuel.value = FUEL_AT_A_TIME
        onSuccess(instance)
        return instance.exports
      },
      // Nothing that runs here writes to the process's own output.
      print: () => undefined,
      printErr: () => undefined,
    }
    const module = await core.newQuickJSWASMModuleFromVariant(
      // The types of the package are those of its CommonJS half.
      core.newVariant(variant.default as unknown as QuickJSSyncVariant, { emscriptenModule: options as never }),
    )
    return new QuickJs(module, { fuel: fuel!, timer })
  }

  /** Creates a realm with nothing of the host's in it. @throws TraceError when the sandbox is dead */
  createRealm(): Realm {
    return new Realm(
      this.#run(() => this.#newContext()),
      {
        run: (work) => this.#run(work),
        checkTime: () => this.#checkTime(),
        isOver: () => this.#isDead || this.#isLate,
      },
    )
  }

  /** Checks the time, since the interpreter does not count the host's own work for a script. @throws TraceError */
  #checkTime(): void {
    if (this.#checkLate()) throw new TraceError('execution timeout')
  }

  /** Returns whether the time of the request, or that of a turn, is over. */
  #checkLate(): boolean {
    const now = this.#timer.nowMs()
    this.#isLate ||= now > this.#timer.deadlineMs || now > this.#callEndMs
    return this.#isLate
  }

  /**
   * Runs something in the sandbox, within its limits.
   * @throws TraceError when a limit ended it
   */
  #run<T>(work: () => T): T {
    const { nowMs, deadlineMs, turns } = this.#timer
    const now = nowMs()
    if (this.#turn !== turns()) this.#turnLeftMs = TURN_MS
    this.#turn = turns()
    this.#isLate ||= now > deadlineMs || this.#turnLeftMs < 0
    // Short calls end before the interpreter looks at the clock, but there may be many.
    if (this.#isDead || this.#isLate) throw new TraceError('execution timeout')
    this.#callEndMs = now + this.#turnLeftMs
    this.#fuel.value = FUEL_AT_A_TIME
    try {
      return work()
    } catch (error) {
      if (error instanceof TraceError) throw this.#isLate ? new TraceError('execution timeout') : error
      this.#isDead = true
      if (this.#fuel.value < 0 || this.#isLate) throw new TraceError('execution timeout')
      if (error instanceof RangeError) throw new TraceError('the tracer calls functions too deep')
      if (error instanceof WebAssembly.RuntimeError) throw new TraceError('the tracer used too much memory')
      throw error
    } finally {
      this.#turnLeftMs -= nowMs() - now
    }
  }

  #newContext(): { readonly runtime: QuickJSRuntime; readonly context: QuickJSContext } {
    const runtime = this.#module.newRuntime()
    runtime.setMemoryLimit(HEAP_BYTES)
    runtime.setMaxStackSize(STACK_BYTES)
    runtime.setInterruptHandler(() => {
      if (this.#checkLate()) return true
      this.#fuel.value = FUEL_AT_A_TIME
      return false
    })
    return { runtime, context: runtime.newContext() }
  }
}

interface RealmLimits {
  /** runs what enters the sandbox */
  readonly run: <T>(work: () => T) => T
  /** throws when there is no time left */
  readonly checkTime: () => void
  /** nothing will run in the sandbox any more */
  readonly isOver: () => boolean
}

/** The global objects of one tracer. Its values are handles, which are freed with the realm at the latest. */
export class Realm {
  readonly #runtime: QuickJSRuntime
  readonly #context: QuickJSContext
  readonly #run: RealmLimits['run']
  readonly #checkTime: RealmLimits['checkTime']
  readonly #isOver: RealmLimits['isOver']
  readonly #handles: QuickJSHandle[] = []

  constructor(
    { runtime, context }: { readonly runtime: QuickJSRuntime; readonly context: QuickJSContext },
    { run, checkTime, isOver }: RealmLimits,
  ) {
    this.#runtime = runtime
    this.#context = context
    this.#run = run
    this.#checkTime = checkTime
    this.#isOver = isOver
  }

  /** Returns the value of a script. @throws TraceError with the script's error */
  evaluate(code: string): QuickJSHandle {
    return this.#keep(this.#run(() => this.#unwrap(this.#context.evalCode(code, 'tracer.js'))))
  }

  /** @throws TraceError with the function's error */
  call(callee: QuickJSHandle, ...args: readonly (QuickJSHandle | string | number)[]): QuickJSHandle {
    return this.#run(() => {
      const handles = args.map((arg) => (typeof arg === 'object' ? arg : this.#value(arg)))
      const result = this.#context.callFunction(callee, this.#context.undefined, handles)
      for (const [index, arg] of args.entries()) if (typeof arg !== 'object') handles[index]!.dispose()
      return this.#unwrap(result)
    })
  }

  /** Calls a function that has no result, like {@link call}. */
  invoke(callee: QuickJSHandle, ...args: readonly number[]): void {
    this.call(callee, ...args).dispose()
  }

  property(object: QuickJSHandle, name: string): QuickJSHandle {
    return this.#keep(this.#run(() => this.#context.getProp(object, name)))
  }

  /** Returns an object with functions of the host. */
  hostObject(functions: Readonly<Record<string, HostFunction>>): QuickJSHandle {
    const context = this.#context
    return this.#run(() => {
      const object = this.#keep(context.newObject())
      for (const [name, implementation] of Object.entries(functions)) {
        const handle = context.newFunction(name, (...args) => {
          this.#checkTime()
          const value = implementation(...args.map((arg) => this.#read(arg)))
          return value === undefined ? context.undefined : this.#value(value)
        })
        context.setProp(object, name, handle)
        handle.dispose()
      }
      return object
    })
  }

  /** Returns the number that a handle stands for; frees it. */
  number(handle: QuickJSHandle): number {
    const value = this.#context.typeof(handle) === 'number' ? this.#context.getNumber(handle) : Number.NaN
    handle.dispose()
    return value
  }

  /**
   * Returns the string that a handle stands for; frees it.
   * @throws TraceError when it is not a string, or `isAllowed` rejects its length
   */
  text(handle: QuickJSHandle, isAllowed: (length: number) => boolean): string | undefined {
    return this.#run(() => {
      const context = this.#context
      try {
        if (context.typeof(handle) !== 'string') throw new TraceError('the tracer has no result')
        const length = context.getProp(handle, 'length').consume((value) => context.getNumber(value))
        return isAllowed(length) ? context.getString(handle) : undefined
      } finally {
        handle.dispose()
      }
    })
  }

  /** Frees all handles and the realm. A sandbox in which nothing will run is left as it is: its memory goes with it. */
  dispose(): void {
    if (this.#isOver()) return
    this.#run(() => {
      for (const handle of this.#handles) if (handle.alive) handle.dispose()
      this.#context.dispose()
      this.#runtime.dispose()
    })
  }

  #keep(handle: QuickJSHandle): QuickJSHandle {
    this.#handles.push(handle)
    return handle
  }

  #value(value: string | number | boolean | Uint8Array): QuickJSHandle {
    if (typeof value === 'string') return this.#context.newString(value)
    if (typeof value === 'number') return this.#context.newNumber(value)
    // A slice: the buffer of a view may have more.
    if (typeof value === 'object') return this.#context.newArrayBuffer(value.slice().buffer)
    return value ? this.#context.true : this.#context.false
  }

  #read(handle: QuickJSHandle): string | number {
    const type = this.#context.typeof(handle)
    if (type === 'string') return this.#context.getString(handle)
    if (type === 'number') return this.#context.getNumber(handle)
    throw new TypeError(`a ${type} instead of a string or number`)
  }

  #unwrap(result: ReturnType<QuickJSContext['callFunction']>): QuickJSHandle {
    if (result.error === undefined) return result.value
    const text = this.#describe(result.error)
    result.error.dispose()
    throw new TraceError(text)
  }

  /** Describes an error as scripts see it: `TypeError: not a function`. Getters of the error may run. */
  #describe(error: QuickJSHandle): string {
    const parts = ['name', 'message'].map((name) =>
      this.#context.getProp(error, name).consume((value) => {
        if (this.#context.typeof(value) !== 'string') return ''
        return this.#context.getString(value).slice(0, LONGEST_MESSAGE)
      }),
    )
    const text = parts.filter((part) => part !== '').join(': ')
    if (text !== '') return text === 'InternalError: out of memory' ? 'the tracer used too much memory' : text
    const type = this.#context.typeof(error)
    if (type === 'string') return this.#context.getString(error).slice(0, LONGEST_MESSAGE)
    if (PLAIN_TYPES.has(type)) return String(this.#context.dump(error))
    // Where there is no memory for an error, null is thrown.
    return type === 'object' ? 'the tracer threw an object without a message, or used too much memory' : type
  }
}
