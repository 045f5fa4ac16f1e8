import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { EvmModuleError, loadEvmModule } from '../../../../../src/evm/engines/wasm/evmModule.ts'

const directory = await mkdtemp(join(tmpdir(), 'coind-module-'))
afterAll(() => rm(directory, { recursive: true }))

describe('loadEvmModule', () => {
  const locate = (name: string) => pathToFileURL(join(directory, name))

  it('tells the operator to build an engine that is absent', async () => {
    await expect(loadEvmModule(locate('absent.wasm'))).rejects.toThrow(
      /absent\.wasm cannot be read: run `npm run build`$/,
    )
  })

  it('tells the operator to build a damaged one anew', async () => {
    await writeFile(locate('damaged.wasm'), Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 9))
    const loading = loadEvmModule(locate('damaged.wasm'))
    await expect(loading).rejects.toThrow(/is damaged/)
    await expect(loading).rejects.toBeInstanceOf(EvmModuleError)
  })

  it('compiles what is one', async () => {
    await writeFile(locate('empty.wasm'), Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))
    expect(String(await loadEvmModule(locate('empty.wasm')))).toBe('[object WebAssembly.Module]')
  })
})
