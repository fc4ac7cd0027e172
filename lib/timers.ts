/** Lets a process end although this timer is set. A runtime that has no processes has numbers for timers. */
export function letEnd (timer: ReturnType<typeof setTimeout>): void {
  const { unref } = Object(timer) as { unref?: () => void }
  unref?.call(timer)
}
