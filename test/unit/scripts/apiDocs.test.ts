import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { openApiText, openRpcText } from '../../../scripts/apiDocs.ts'

it.each([
  ['docs/openrpc.json', openRpcText, '"eth_call"'],
  ['docs/openapi.json', openApiText, '"/api/v1/blocks"'],
])('%s is what scripts/apiDocs.ts makes', async (file, make, part) => {
  const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
  expect(text).toContain(part)
  expect(text).toBe(await make())
})
