// Part of cf_runtime.cu: errors, messages, names.
#pragma once

namespace c10 {

Error::Error(const std::string& message) : message_(message) {}
Error::~Error() = default;
const char* Error::what() const noexcept { return message_.c_str(); }

const char* toString(ScalarType type) {
    switch (type) {
        case kByte: return "Byte";
        case kChar: return "Char";
        case kShort: return "Short";
        case kInt: return "Int";
        case kLong: return "Long";
        case kHalf: return "Half";
        case kFloat: return "Float";
        case kDouble: return "Double";
        case kBool: return "Bool";
        case kBFloat16: return "BFloat16";
        case kUInt16: return "UInt16";
        case kUInt32: return "UInt32";
        case kUInt64: return "UInt64";
        default: return "another type";
    }
}

size_t elementSize(ScalarType type) {
    switch (type) {
        case kLong: case kDouble: case kUInt64: return 8;
        case kInt: case kFloat: case kUInt32: return 4;
        case kShort: case kHalf: case kBFloat16: case kUInt16: return 2;
        default: return 1;
    }
}

Device::Device(const std::string& text) : type_(text.compare(0, 4, "cuda") == 0 ? kCUDA : kCPU), index_(-1) {
    const size_t colon = text.find(':');
    if (colon != std::string::npos) index_ = DeviceIndex(std::stoi(text.substr(colon + 1)));
}

std::string Device::str() const {
    return std::string(is_cuda() ? "cuda" : "cpu") + (has_index() ? ":" + std::to_string(index_) : "");
}

}  // namespace c10

namespace cf {

void fail(const std::string& message) { throw c10::Error(message); }
void fail(const char* message) { throw c10::Error(message); }
void fail_check(const char* otherwise, const std::string& message) { fail(message.empty() ? otherwise : message); }
void fail_index(const std::string& message) { throw c10::IndexError(message); }

template <class T> static std::string printed(const char* format, T value) {
    char buffer[48];
    snprintf(buffer, sizeof buffer, format, value);
    return buffer;
}
Text& Text::operator<<(const char* text) { text_ += text ? text : "(null)"; return *this; }
Text& Text::operator<<(const std::string& text) { text_ += text; return *this; }
Text& Text::operator<<(char letter) { text_ += letter; return *this; }
Text& Text::operator<<(bool value) { return *this << (value ? "true" : "false"); }
Text& Text::operator<<(long value) { return *this << printed("%ld", value); }
Text& Text::operator<<(unsigned long value) { return *this << printed("%lu", value); }
Text& Text::operator<<(double value) { return *this << printed("%g", value); }
Text& Text::operator<<(const void* value) { return *this << printed("%p", value); }
Text& Text::operator<<(const c10::Device& device) { return *this << device.str(); }
Text& Text::operator<<(c10::IntArrayRef list) {
    *this << '[';
    for (size_t i = 0; i < list.size(); ++i) *this << (i ? ", " : "") << list[i];
    return *this << ']';
}

}  // namespace cf
