/** The part of JavaScript's `WebAssembly` that is used: the types of Node.js do not have it. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => WasmModule
  readonly Instance: new (module: WasmModule, imports?: WasmImports) => { readonly exports: object }
  readonly Memory: new (limits: { readonly initial: number; readonly maximum?: number }) => WasmMemory
  /** the error that a trap throws */
  readonly RuntimeError: new (
    message?: string,
  ) => Error
  compile(bytes: Uint8Array): Promise<WasmModule>
}

/** Compiled code. Threads that get it in a message share the machine code. */
export interface WasmModule {
  readonly __wasmModule?: 'WasmModule'
}

export interface WasmMemory {
  /** another object after the memory has grown; the one before has no bytes then */
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}

export type WasmImports = Readonly<
  Record<string, Readonly<Record<string, WasmMemory | ((...args: never[]) => unknown)>>>
>

export const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }
