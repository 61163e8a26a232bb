"""Small problems in KernelBench's form, one for each way in which sizes hang together."""

from __future__ import annotations

from archive_support import SCALE_MODULE, problem


def _layer(arguments: str, layer: str, forward: str = "return self.layer(x)") -> str:
    return f"""
class Model(nn.Module):
    def __init__(self, {arguments}):
        super().__init__()
        self.layer = {layer}

    def forward(self, x):
        {forward}
"""


def _function(forward: str, arguments: str = "x") -> str:
    return f"""
class Model(nn.Module):
    def forward(self, {arguments}):
        return {forward}
"""


SOURCES = {
    "scaled_relu": SCALE_MODULE,
    "square_product": problem(_function("a @ b", "a, b"), "N = 32 * 2", "torch.rand(N, N), torch.rand(N, N)"),
    "product": problem(
        _function("torch.matmul(a, b)", "a, b"),
        "M = 48\nK = 64\nN = 32",
        "torch.rand(M, K), torch.rand(K, N)",
    ),
    "softmax": problem(
        _function("torch.softmax(x, dim=1)"), "batch_size = 16\ndim = 256", "torch.rand(batch_size, dim)"
    ),
    "sum_over_axis": problem(
        """
class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.sum(x, dim=self.dim, keepdim=True)
""",
        "batch_size = 8\ndim1 = 32\ndim2 = 24\nreduce_dim = 1",
        "torch.randn(batch_size, dim1, dim2)",
        "reduce_dim",
    ),
    "convolution": problem(
        _layer("in_channels, out_channels, kernel_size", "nn.Conv2d(in_channels, out_channels, kernel_size)"),
        "batch_size = 4\nin_channels = 3\nout_channels = 16\nheight = width = 32\nkernel_size = 7",
        "torch.randn(batch_size, in_channels, height, width)",
        "in_channels, out_channels, kernel_size",
    ),
    "group_norm": problem(
        _layer("num_features, num_groups", "nn.GroupNorm(num_groups=num_groups, num_channels=num_features)"),
        "batch_size = 4\nfeatures = 16\nnum_groups = 8\ndim1 = 12\ndim2 = 12",
        "torch.rand(batch_size, features, dim1, dim2)",
        "features, num_groups",
    ),
    "batch_norm": problem(
        _layer("features", "nn.BatchNorm1d(features)"),
        "batch_size = 32\nfeatures = 64",
        "torch.rand(batch_size, features)",
        "features",
    ),
    "layer_norm": problem(
        _layer("shape", "nn.LayerNorm(normalized_shape=shape)"),
        "batch_size = 4\nfeatures = 16\ndim1 = 8\ndim2 = 8\nshape = (features, dim1, dim2)",
        "torch.rand(batch_size, *shape)",
        "shape",
    ),
    "max_pooling": problem(
        _layer("kernel_size, stride", "nn.MaxPool1d(kernel_size, stride)"),
        "batch_size = 4\nfeatures = 8\nlength = 64\nkernel_size = 5\nstride = 2",
        "torch.rand(batch_size, features, length)",
        "kernel_size, stride",
    ),
    "linear": problem(
        _layer("in_features, out_features", "nn.Linear(in_features, out_features)"),
        "batch_size = 16\nin_features = 64\nout_features = 48",
        "torch.rand(batch_size, in_features)",
        "in_features, out_features",
    ),
    "attention": problem(
        _layer(
            "embed_dim, heads", "nn.MultiheadAttention(embed_dim, heads)", "return self.layer(x, x, x)[0]"
        ),
        "seq_len = 8\nbatch = 4\nembed_dim = 32\nheads = 4",
        "torch.rand(seq_len, batch, embed_dim)",
        "embed_dim, heads",
    ),
    "flattened_network": problem(
        """
class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 5)
        self.out = nn.Linear(4 * 14 * 14, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.out(x.view(-1, 4 * 14 * 14))
""",
        "batch_size = 4\nsize = 32\nnum_classes = 10",
        "torch.rand(batch_size, 1, size, size)",
        "num_classes",
    ),
    "cross_entropy": problem(
        _function("F.cross_entropy(x, y)", "x, y"),
        "batch_size = 32\nnum_classes = 10\ninput_shape = (num_classes,)",
        "torch.rand(batch_size, *input_shape), torch.randint(0, num_classes, (batch_size,))",
    ),
    "recurrent_with_hidden_state": problem(
        """
class Model(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.h0 = torch.randn(1, batch_size, hidden_size)
        self.rnn = nn.GRU(input_size, hidden_size, batch_first=True)

    def forward(self, x):
        return self.rnn(x, self.h0)[0]
""",
        "batch_size = 4\nsequence_length = 8\ninput_size = 16\nhidden_size = 12",
        "torch.rand(batch_size, sequence_length, input_size)",
        "input_size, hidden_size",
    ),
    "nothing_to_vary": problem(_function("torch.relu(x)"), "", "torch.rand(4, 4)"),
}
