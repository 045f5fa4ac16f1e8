import type { Plugin } from 'rolldown'

export function bundleVariant(directory: string, plugins: readonly Plugin[]): Promise<void>
