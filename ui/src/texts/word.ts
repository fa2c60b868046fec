// The word for an identifier of the server, such as a finish reason; one that this page does not know is shown as it is.
import { useI18n } from "vue-i18n";

export function useWord(): (group: string, name: string) => string {
  const { t, te } = useI18n();
  return (group, name) => (te(`${group}.${name}`, "en") ? t(`${group}.${name}`) : name);
}
