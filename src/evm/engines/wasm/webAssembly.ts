/** The part of JavaScript's `WebAssembly` that the engine uses: the types of Node.js do not have it. */
interface WebAssemblyApi {
  readonly Instance: new (module: EvmModule, imports: WasmImports) => { readonly exports: object }
  readonly Memory: new (limits: { readonly initial: number; readonly maximum?: number }) => WasmMemory
  /** what a trap throws */
  readonly RuntimeError: new (
    message?: string,
  ) => Error
  compile(bytes: Uint8Array): Promise<EvmModule>
}

/** The compiled engine. Threads that are handed it share the machine code. */
export interface EvmModule {
  readonly __evmModule?: 'EvmModule'
}

export interface WasmMemory {
  /** another object after the memory has grown; the one before has no bytes then */
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}

export type WasmImports = Readonly<Record<string, Readonly<Record<string, (...args: never[]) => unknown>>>>

export const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }
